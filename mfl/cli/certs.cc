#include "mfl/network/certs.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "mfl/cli/commands.h"
#include "mfl/network/expiry.h"
#include "mfl/report/table.h"

namespace mfl::cli {
namespace {

struct CertsArguments {
  std::string pki, name;
  std::vector<std::string> names;
  int days = 0;
};

constexpr int kMostDays = 36500;

std::string certificate_name(const IssuedCertificate& one) {
  return one.facts.role == CertificateFacts::Role::kServer ? "server" : one.facts.name;
}

std::string certificate_state(const IssuedCertificate& one) {
  if (one.revoked) return "revoked";
  if (days_left(one.facts.expires) < 0) return "expired";
  return one.current ? "valid" : "renewed, still valid";
}

Result<Reply> list_issued(const CertsArguments& args) {
  MFL_TRY(const auto all, list_certificates(args.pki));
  Reply reply;
  reply.data["certificates"] = Json::array();
  Table table({{"name"}, {"role"}, {"expires"}, {"days left", Align::kRight}, {"state"}, {"serial"}});
  for (const IssuedCertificate& one : all) {
    const CertificateFacts& facts = one.facts;
    const std::string name = certificate_name(one), date = date_text(facts.expires);
    reply.data["certificates"].push_back({{"name", name},
                                          {"role", role_name(facts.role)},
                                          {"names", facts.names},
                                          {"serial", facts.serial},
                                          {"expires", date},
                                          {"days_left", days_left(facts.expires)},
                                          {"current", one.current},
                                          {"revoked", one.revoked}});
    table.add({name, std::string(role_name(facts.role)), date, fmt::to_string(days_left(facts.expires)),
               certificate_state(one), facts.serial});
  }
  reply.text = table.text();
  return reply;
}

Result<Reply> renew_command(const CertsArguments& args, Days life) {
  MFL_TRY(const CertificateFacts old, renew_certificate(args.pki, args.name, life));
  const std::string folder = args.pki + "/" + args.name;
  Reply reply;
  reply.data = {{"folder", folder}, {"old_serial", old.serial}, {"old_expires", date_text(old.expires)}};
  reply.text = fmt::format(
      "renewed {}; copy it to the {} and restart it there\n"
      "the old certificate {}; then revoke it with: mfl certs revoke {} {}\n",
      folder, role_name(old.role), expiry_text(old.expires), args.pki, old.serial);
  return reply;
}

Result<Reply> revoke_command(const CertsArguments& args) {
  MFL_TRY(const auto revoked, revoke_certificates(args.pki, args.name));
  const std::string list = args.pki + "/" + kRevokedCertificates;
  Reply reply;
  reply.data = {{"list", list}, {"revoked", Json::array()}};
  for (const CertificateFacts& facts : revoked) {
    reply.data["revoked"].push_back({{"name", facts.name}, {"serial", facts.serial}});
    reply.text += fmt::format("revoked {} of {}\n", facts.serial, facts.name);
  }
  reply.text += revoked.empty() ? fmt::format("{} has been revoked before\n", args.name)
                                : fmt::format("copy {} to the server, for --revoked\n", list);
  return reply;
}

Result<Reply> made(const std::string& folder, const std::string& text) {
  return Reply{{{"folder", folder}}, text, std::nullopt};
}

}  // namespace

void setup_certs(Command& mfl, Commands& commands) {
  Command* certs = mfl.add_subcommand("certs", "Make, list, renew and revoke certificates of a federation");
  certs->footer(
      "Example:\n  mfl certs init pki && mfl certs server pki fl.example.org && mfl certs node pki "
      "hospital-a");

  const auto args = std::make_shared<CertsArguments>();
  const auto days = [args](Command& command, Days usual) {
    command
        .add_option("--days", args->days, fmt::format("Days that it is valid (default: {})", usual.count()))
        ->type_name("N")
        ->check_range(1, kMostDays);
  };
  const auto life = [args](Days usual) { return args->days != 0 ? Days(args->days) : usual; };

  Command& init = commands.add(
      *certs, "init", "Make a certificate authority", "  mfl certs init pki",
      [args, life]() -> Result<Reply> {
        MFL_CHECK(make_authority(args->pki, life(kAuthorityLife)));
        return made(args->pki,
                    fmt::format("made an authority in {}; keep {}/ca.key secret\n", args->pki, args->pki));
      });
  init.add_option("PKI", args->pki, "The folder to make")->required();
  days(init, kAuthorityLife);

  Command& server = commands.add(
      *certs, "server", "Make the server's certificate, in PKI/server",
      "  mfl certs server pki fl.example.org 192.0.2.7", [args, life]() -> Result<Reply> {
        MFL_CHECK(make_server_certificate(args->pki, args->names, life(kCertificateLife)));
        const std::string folder = args->pki + "/server";
        return made(folder, fmt::format("made {}; use it with: mfl server FILE --tls {}\n", folder, folder));
      });
  server.add_option("PKI", args->pki, "The authority's folder")->required();
  server.add_option("NAME", args->names, "Host names and addresses by which nodes reach the server")
      ->required();
  days(server, kCertificateLife);

  Command& node = commands.add(
      *certs, "node", "Make a node's certificate, in PKI/NAME", "  mfl certs node pki hospital-a",
      [args, life]() -> Result<Reply> {
        MFL_CHECK(make_node_certificate(args->pki, args->name, life(kCertificateLife)));
        const std::string folder = args->pki + "/" + args->name;
        return made(folder, fmt::format("made {}; copy it to the node and use it with: mfl node --tls {}\n",
                                        folder, folder));
      });
  node.add_option("PKI", args->pki, "The authority's folder")->required();
  node.add_option("NAME", args->name, "The node's name: up to 63 of a-z, 0-9, '-' and '.'")->required();
  days(node, kCertificateLife);

  Command& list = commands.add(*certs, "list", "List certificates with their serial numbers and expiry dates",
                               "  mfl certs list pki", [args] { return list_issued(*args); });
  list.add_option("PKI", args->pki, "The authority's folder")->required();

  Command& renew =
      commands.add(*certs, "renew", "Replace the key and certificate in PKI/NAME",
                   "  mfl certs renew pki hospital-a\nmfl certs renew pki server renews the server's.",
                   [args, life] { return renew_command(*args, life(kCertificateLife)); });
  renew.add_option("PKI", args->pki, "The authority's folder")->required();
  renew.add_option("NAME", args->name, "A node's name, or server")->required();
  days(renew, kCertificateLife);

  Command& revoke = commands.add(
      *certs, "revoke", "Add a node's certificates to PKI/revoked_certificates.txt, for mfl server --revoked",
      "  mfl certs revoke pki hospital-b", [args] { return revoke_command(*args); });
  revoke.add_option("PKI", args->pki, "The authority's folder")->required();
  revoke.add_option("NAME", args->name, "A node's name, or the serial number of one certificate")->required();
}

}  // namespace mfl::cli
