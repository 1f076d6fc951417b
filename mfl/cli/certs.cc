#include "mfl/network/certs.h"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "mfl/cli/commands.h"

namespace mfl::cli {
namespace {

struct Arguments {
  std::string pki, name;
  std::vector<std::string> names;
  int days = 0;
};

constexpr int kMostDays = 36500;

Result<Reply> made(const std::string& folder, const std::string& text) {
  return Reply{{{"folder", folder}}, text, std::nullopt};
}

}  // namespace

void setup_certs(Command& mfl, Commands& commands) {
  Command* certs = mfl.add_subcommand("certs", "Make certificates for a federation");
  certs->footer(
      "Example:\n  mfl certs init pki && mfl certs server pki fl.example.org && mfl certs node pki "
      "hospital-a");

  const auto args = std::make_shared<Arguments>();
  const auto days = [args](Command& command, Days usual) {
    command
        .add_option("--days", args->days, fmt::format("How long it is valid; {} if not said", usual.count()))
        ->type_name("N")
        ->check_range(1, kMostDays);
  };
  const auto life = [args](Days usual) { return args->days != 0 ? Days(args->days) : usual; };

  Command& init = commands.add(
      *certs, "init", "Make a certificate authority", "  mfl certs init pki",
      [args, life]() -> Result<Reply> {
        MFL_CHECK(make_authority(args->pki, life(kAuthorityLife)));
        return made(args->pki, fmt::format("made an authority in {}; keep {}/ca.key to yourself\n", args->pki,
                                           args->pki));
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
        return made(folder, fmt::format("made {}; bring it to the node and use it with: mfl node --tls {}\n",
                                        folder, folder));
      });
  node.add_option("PKI", args->pki, "The authority's folder")->required();
  node.add_option("NAME", args->name, "The node's name: up to 63 of a-z, 0-9, '-' and '.'")->required();
  days(node, kCertificateLife);
}

}  // namespace mfl::cli
