#include "mfl/network/wire.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include "mfl/base/rng.h"
#include "mfl/network/wire.pb.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string unhex(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  return out;
}

const Schema kSchema{2, {"age", "b\xc3\xaf"}, "", "side", LabelTask::kBinary, {"-1", "1"}, "1"};
const Plan kWirePlan{"0badcafe", "d1", "[model]\nname = \"svm\"\n", 32, kSchema};
const Joining kJoining{"d1", 1250, 2, 32, kSchema};
const Verdict kVerdict{Reason::kStale, "round 1 is over, this is round 2"};

Assignment task_with(std::string payload) {
  return {"0badcafe",
          {0x1122334455667788, 3, 7, 1},
          4,
          "5ca1e",
          {{"w", "f32", 5}, {"d", "f32", 5}},
          2,
          std::make_shared<const std::string>(std::move(payload))};
}
Order order_with(std::string payload) { return {Order::Kind::kTask, task_with(std::move(payload)), {}, {}}; }
Update update_with(std::string payload) {
  return {"0badcafe",
          {0x1122334455667788, 3, 7, 1},
          1250,
          {.train_loss = 0.25},
          {{"w", "bf16", 10}},
          std::move(payload),
          {},
          {},
          "5ca1e"};
}

FederationStatus status() {
  FederationStatus out;
  out.run_id = "0badcafe";
  out.phase = "training";
  out.round = 2;
  out.step = 8;
  out.steps = 1000;
  out.nodes = 4;
  out.losses.train_loss = 0.5;
  out.refused[static_cast<std::size_t>(Reason::kDuplicate)] = 9;
  return out;
}

// Every message as it must stay while the protocol version is 6.
std::map<std::string, std::string> messages() {
  const Order done{Order::Kind::kDone, {}, "done", "f00d"};
  const auto order = wire::encode(order_with("12345678"));
  return {{"hello", wire::encode(wire::Hello{2, "d1"})},
          {"plan", wire::encode(kWirePlan)},
          {"joining", wire::encode(kJoining)},
          {"verdict", wire::encode(kVerdict)},
          {"status", wire::encode(status())},
          {"order_joined", wire::encode(Order{}).at(0)},
          {"order_task", order.at(0)},
          {"order_chunk", order.at(1)},
          {"order_done", wire::encode(done).at(0)},
          {"update", wire::encode(update_with("12345678")).at(0)},
          {"update_without_vectors", wire::encode(update_with("")).at(0)}};
}

std::map<std::string, std::string> golden() {
  std::map<std::string, std::string> out;
  std::ifstream file(MFL_GOLDEN "/wire_v6.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string name, bytes;
    words >> name >> bytes;
    out[name] = unhex(bytes);
  }
  return out;
}

TEST(Wire, GoldenMessagesAreWrittenUnchanged) {
  const auto kept = golden();
  const auto now = messages();
  EXPECT_EQ(kept.size(), now.size());
  for (const auto& [name, bytes] : now) {
    const auto found = kept.find(name);
    EXPECT_TRUE(found != kept.end() && found->second == bytes) << name << ' ' << hex(bytes);
  }
}

TEST(Wire, GoldenMessagesAreReadUnchanged) {
  auto kept = golden();
  EXPECT_EQ(wire::decode_hello(kept["hello"])->config_digest, "d1");
  EXPECT_EQ(wire::decode_plan(kept["plan"]).value(), kWirePlan);
  EXPECT_EQ(wire::decode_joining(kept["joining"]).value(), kJoining);
  EXPECT_EQ(wire::decode_verdict(kept["verdict"])->reason, kVerdict.reason);
  EXPECT_EQ(wire::decode_verdict(kept["verdict"])->text, kVerdict.text);
  EXPECT_EQ(wire::decode_status(kept["status"])->refused, status().refused);
  wire::OrderReader orders(1 << 20);
  EXPECT_EQ(orders.take(kept["order_joined"])->kind, Order::Kind::kNone);
  EXPECT_EQ(orders.take(kept["order_task"])->kind, Order::Kind::kNone);
  const Order task = orders.take(kept["order_chunk"]).value();
  EXPECT_EQ(task.kind, Order::Kind::kTask);
  EXPECT_EQ(task.task.ticket, (Ticket{0x1122334455667788, 3, 7, 1}));
  EXPECT_EQ(*task.task.payload, "12345678");
  EXPECT_EQ(orders.take(kept["order_done"])->digest, "f00d");
  wire::UpdateReader updates;
  ASSERT_TRUE(updates.take(kept["update"]));
  const Update update = updates.finish().value();
  EXPECT_EQ(update.ticket, task.task.ticket);
  EXPECT_EQ(update.base, task.task.state_digest);
  EXPECT_EQ(update.weight, 1250U);
  EXPECT_EQ(update.losses.train_loss, 0.25);
  EXPECT_EQ(update.payload, "12345678");
}

TEST(Wire, AnUpdateKeepsTheMetricsOfATrainer) {
  Update update = update_with("12345678");
  update.metrics = {{"test_accuracy", 0.5}, {"\xff", -1e300}};
  wire::UpdateReader reader;
  ASSERT_TRUE(reader.take(wire::encode(update).at(0)));
  EXPECT_EQ(reader.finish()->metrics, update.metrics);
  for (int i = 0; i < 100; ++i) update.metrics[std::to_string(i)] = i;
  EXPECT_FALSE(wire::UpdateReader().take(wire::encode(update).at(0)));
  update.metrics = {{std::string(1000, 'x'), 1}};
  EXPECT_FALSE(wire::UpdateReader().take(wire::encode(update).at(0)));
  update.metrics = {{"test_loss", std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_FALSE(wire::UpdateReader().take(wire::encode(update).at(0)));
}

TEST(Wire, ASchemaKeepsTheTensorsAndTheOrderOfClassesOfATrainer) {
  Joining joining = kJoining;
  joining.schema = {};
  joining.schema.task = LabelTask::kExternal;
  joining.schema.columns = 12;
  joining.schema.tensors = R"([{"name":"w","shape":[12]}])";
  joining.schema.classes = {"b", "a", "c"};
  EXPECT_EQ(wire::decode_joining(wire::encode(joining)).value(), joining);
}

TEST(Wire, AJoiningKeepsItsInstance) {
  Joining joining = kJoining;
  joining.instance = 0xfedcba9876543210;
  EXPECT_EQ(wire::decode_joining(wire::encode(joining)).value(), joining);
}

TEST(Wire, AStatusKeepsNodesAndTests) {
  FederationStatus status;
  status.needed = 3;
  status.test_loss = 0.25;
  status.test_accuracy = 0.75;
  status.losses = {0.5, 0.125, 0};
  status.version = "0.1.0";
  status.certificate_expires = 1'800'000'000;
  status.warnings = {"one node holds most of the samples"};
  status.node_list = {{"a", true, Time(12), 150, 7, {0.5, 0.25, 0.75}, 0.125, 1'900'000'000, 4, Time(9'000)},
                      {"b"}};
  status.quarantined = 1;
  status.refused[static_cast<std::size_t>(Reason::kNorm)] = 6;
  const FederationStatus read = wire::decode_status(wire::encode(status)).value();
  EXPECT_EQ(read.needed, 3U);
  EXPECT_EQ(read.quarantined, 1U);
  EXPECT_EQ(read.refused, status.refused);
  EXPECT_EQ(read.losses, status.losses);
  EXPECT_EQ(read.test_loss, 0.25);
  EXPECT_EQ(read.test_accuracy, 0.75);
  EXPECT_EQ(read.version, "0.1.0");
  EXPECT_EQ(read.certificate_expires, 1'800'000'000);
  EXPECT_EQ(read.warnings, status.warnings);
  EXPECT_EQ(read.node_list, status.node_list);
}

TEST(Wire, VectorsOfAnySizeSurviveTheirChunks) {
  for (const std::size_t size :
       {std::size_t{1}, wire::kChunk - 1, wire::kChunk, wire::kChunk + 1, 3 * wire::kChunk + 8}) {
    std::string payload(size, '\0');
    Stream stream(1, Purpose::kSynthetic, size);
    for (char& c : payload) c = static_cast<char>(stream.next());
    wire::OrderReader orders(size);
    Order last;
    for (const std::string& message : wire::encode(order_with(payload))) last = orders.take(message).value();
    ASSERT_EQ(last.kind, Order::Kind::kTask);
    EXPECT_EQ(*last.task.payload, payload);
    wire::UpdateReader updates;
    const auto parts = wire::encode(update_with(payload));
    EXPECT_EQ(parts.size(), (size + wire::kChunk - 1) / wire::kChunk);
    for (const std::string& part : parts) ASSERT_TRUE(updates.take(part));
    EXPECT_EQ(updates.finish()->payload, payload);
  }
}

// Chunks are written and read without protobuf: it has to agree.
TEST(Wire, ChunksAreMessagesOfTheProtocol) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{127}, std::size_t{128}, wire::kChunk}) {
    const std::string chunk(size, 'x'), first(wire::kChunk, 'y');
    wire::v1::Order order;
    order.set_chunk(chunk);
    EXPECT_EQ(wire::encode(order_with(chunk)).at(1), order.SerializeAsString());
    wire::v1::UpdatePart part;
    part.set_chunk(chunk);
    EXPECT_EQ(wire::encode(update_with(first + chunk)).at(1), part.SerializeAsString());
    wire::v1::UpdatePart whole;
    ASSERT_TRUE(whole.ParseFromString(wire::encode(update_with(chunk)).at(0)));
    EXPECT_EQ(whole.chunk(), chunk);
    EXPECT_EQ(whole.SerializeAsString(), wire::encode(update_with(chunk)).at(0));
    // A chunk that comes with a field of a later version is one all the same.
    wire::UpdateReader reader;
    ASSERT_TRUE(reader.take(wire::encode(update_with(first + chunk)).at(0)));
    ASSERT_TRUE(reader.take(part.SerializeAsString() + std::string("\x78\x01", 2)));
    EXPECT_EQ(reader.finish()->payload, first + chunk);
  }
}

TEST(Wire, VectorsOfATaskLiveAsLongAsTheyAreUsed) {
  wire::OrderReader orders(1 << 20);
  const auto next = [&](char letter) {
    Order last;
    for (const std::string& message : wire::encode(order_with(std::string(1000, letter))))
      last = orders.take(message).value();
    return last.task.payload;
  };
  const auto kept = next('a');
  for (const char letter : {'b', 'c', 'd', 'e'}) EXPECT_EQ(*next(letter), std::string(1000, letter));
  EXPECT_EQ(*kept, std::string(1000, 'a'));
  // Who lets go of a task when the next has come gets the memory of the one before it.
  std::shared_ptr<const std::string> held = next('f'), after = next('g');
  const void* const memory = held.get();
  held = after;
  after = next('h');
  EXPECT_EQ(after.get(), memory);
}

TEST(Wire, NumbersKeepTheirBits) {
  for (auto Losses::*which : {&Losses::train_loss, &Losses::batch_loss, &Losses::start_loss})
    for (const double loss : {0.0, -0.0, 5e-324, std::numeric_limits<double>::infinity(), 0.1}) {
      wire::UpdateReader reader;
      Update update = update_with("");
      update.losses = {};
      update.losses.*which = loss;
      ASSERT_TRUE(reader.take(wire::encode(update).at(0)));
      const Losses read = reader.finish()->losses;
      EXPECT_EQ(std::bit_cast<std::uint64_t>((read.*which).value()), std::bit_cast<std::uint64_t>(loss));
      EXPECT_EQ(read.train_loss.has_value() + read.batch_loss.has_value() + read.start_loss.has_value(), 1);
    }
}

TEST(Wire, InconsistentMessagesAreRefused) {
  const auto order = wire::encode(order_with("12345678"));
  wire::OrderReader too_small(7);
  EXPECT_FALSE(too_small.take(order[0]));
  wire::OrderReader chunk_first(100);
  EXPECT_FALSE(chunk_first.take(order[1]));
  wire::OrderReader twice(100);
  ASSERT_TRUE(twice.take(order[0]));
  EXPECT_FALSE(twice.take(order[0]));
  const auto parts = wire::encode(update_with(std::string(wire::kChunk + 1, 'x')));
  wire::UpdateReader headless;
  EXPECT_FALSE(headless.take(parts[1]));
  EXPECT_FALSE(wire::UpdateReader{}.finish());
  wire::UpdateReader cut;
  ASSERT_TRUE(cut.take(parts[0]));
  EXPECT_THAT(cut.finish().error().text(), HasSubstr("bytes of vectors"));
  wire::UpdateReader too_much;
  ASSERT_TRUE(too_much.take(parts[0]));
  ASSERT_TRUE(too_much.take(parts[1]));
  EXPECT_FALSE(too_much.take(parts[1]));
  std::string other_version = wire::encode(kWirePlan);
  ASSERT_EQ(other_version[1], static_cast<char>(kProtocolVersion));
  for (const int older : {1, static_cast<int>(kProtocolVersion) - 1}) {
    other_version[1] = static_cast<char>(older);
    EXPECT_THAT(wire::decode_plan(other_version).error().text(),
                HasSubstr(fmt::format("the peer speaks protocol version {}, this mfl version {}", older,
                                      kProtocolVersion)));
  }
  EXPECT_THAT(wire::decode_joining(wire::encode(Joining{"d1", 1, 2, 32})).error().text(),
              HasSubstr("what its labels are"));
}

TEST(Wire, NamesThatAreTooLongForAMessageTravelAsTheirDigest) {
  Joining wide{"d1", 1, 100'000, 32, kSchema};
  wide.schema.columns = wide.columns;
  wide.schema.features.assign(wide.columns, "a gene with a name");
  const std::string bytes = wire::encode(wide);
  EXPECT_LT(bytes.size(), wire::kChunk);
  const Schema sent = wire::decode_joining(bytes)->schema;
  EXPECT_TRUE(sent.features.empty());
  EXPECT_FALSE(difference(wide.schema, sent));
  wide.schema.features.back() = "another";
  EXPECT_THAT(difference(wide.schema, sent).value_or(""), HasSubstr("other names"));
}

TEST(Wire, ManyClassesArriveAsTheyAre) {
  Joining joining = kJoining;
  joining.schema.task = LabelTask::kMulticlass;
  joining.schema.positive.clear();
  for (const std::vector<std::string>& classes :
       {std::vector<std::string>{}, {"7"}, {"-1", "1"}, {"9", "10", "a", "\xff"}}) {
    joining.schema.classes = classes;
    EXPECT_EQ(wire::decode_joining(wire::encode(joining))->schema, joining.schema);
    Plan plan = kWirePlan;
    plan.schema = joining.schema;
    EXPECT_EQ(wire::decode_plan(wire::encode(plan))->schema, plan.schema);
  }
  for (const std::vector<std::string>& classes :
       {std::vector<std::string>{"a", "a"}, {"10", "9"}, {"a", "b", "1"}}) {
    joining.schema.classes = classes;
    EXPECT_EQ(wire::decode_joining(wire::encode(joining)).error().code, ErrorCode::kNetwork);
  }
  joining.schema.classes = {"a", "b", "c"};
  joining.schema.positive = "a";
  EXPECT_THAT(wire::decode_joining(wire::encode(joining)).error().text(), HasSubstr("positive"));
  joining.schema.positive.clear();
  joining.schema.task = LabelTask::kBinary;
  EXPECT_THAT(wire::decode_joining(wire::encode(joining)).error().text(), HasSubstr("not two"));
}

TEST(Wire, TheLargestSchemaFitsAMessage) {
  Joining wide{"d1", 1, 12'000, 32, kSchema};
  wide.schema.columns = wide.columns;
  wide.schema.features.assign(wide.columns, "8 bytes.");
  wide.schema.task = LabelTask::kMulticlass;
  wide.schema.positive.clear();
  wide.schema.classes.clear();
  for (std::size_t i = 0; i < kMostClasses; ++i) wide.schema.classes.push_back(fmt::format("{:013}x", i));
  EXPECT_TRUE(classes_fault(wide.schema.classes));
  for (std::string& name : wide.schema.classes) name.erase(0, 1);
  ASSERT_EQ(classes_fault(wide.schema.classes), std::nullopt);
  const std::string bytes = wire::encode(wide);
  EXPECT_LT(bytes.size(), 2 * wire::kChunk);
  EXPECT_EQ(wire::decode_joining(bytes)->schema, wide.schema) << "neither names nor classes are shortened";
  wide.schema.classes.push_back("y");
  EXPECT_FALSE(wire::decode_joining(wire::encode(wide)));
}

// Bytes that are nearly valid, or not at all: a message or an error, nothing else.
TEST(Wire, AnyBytesAreSafe) {
  Stream dice(3, Purpose::kSynthetic);
  const auto known = messages();
  for (int i = 0; i < 20'000; ++i) {
    auto it = known.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(dice.below(known.size())));
    std::string bytes = it->second;
    for (std::uint64_t n = dice.below(4); n > 0 && !bytes.empty(); --n)
      bytes[dice.below(bytes.size())] = static_cast<char>(dice.next());
    if (dice.below(4) == 0) bytes.resize(dice.below(bytes.size() + 1));
    (void)wire::decode_hello(bytes);
    (void)wire::decode_plan(bytes);
    (void)wire::decode_joining(bytes);
    (void)wire::decode_verdict(bytes);
    (void)wire::decode_status(bytes);
    wire::OrderReader orders(1 << 16);
    (void)orders.take(bytes);
    (void)orders.take(bytes);
    wire::UpdateReader updates;
    (void)updates.take(bytes);
    (void)updates.take(bytes);
    (void)updates.finish();
  }
}

}  // namespace
}  // namespace mfl
