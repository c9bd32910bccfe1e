#include "agent/api/server.h"

#include <gmock/gmock.h>
#include <grpc/support/cpu.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "base/fd.h"
#include "standard.pb.h"
#include "tests/unit/api/serving.h"

namespace pinion::agent::api {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

class Server : public Serving {};

TEST_F(Server, AnswersWhatIsPublished) {
  NodeView view = empty_view();
  view.generation = 5;
  ASSERT_TRUE(place(view, request("a", 2)));
  add(view, shared_container("b"));
  publish(view);
  metrics::ContainerFigures measured = figures("a");
  measured.rates.cpus = 0.5;
  samples_.publish(std::make_shared<metrics::Sample>(sample(1, {measured})));
  start();

  Client caller = client();
  const auto node = caller.get_node();
  ASSERT_TRUE(node) << node.error().text;
  EXPECT_EQ(node->name(), "host");
  EXPECT_EQ(node->instance(), "instance");
  EXPECT_EQ(node->generation(), 5U);
  EXPECT_EQ(node->machine().cpus_size(), 8);

  const auto list = caller.list_containers();
  ASSERT_TRUE(list) << list.error().text;
  EXPECT_EQ(list->generation(), 5U);
  ASSERT_EQ(list->containers_size(), 2);
  EXPECT_EQ(list->containers(0).id(), "a");
  EXPECT_TRUE(list->containers(0).has_figures());
  EXPECT_EQ(list->containers(0).rates().cpus(), 0.5);
  EXPECT_EQ(list->containers(1).id(), "b");

  const auto whole = caller.snapshot();
  ASSERT_TRUE(whole) << whole.error().text;
  EXPECT_EQ(whole->node().DebugString(), node->DebugString());
  EXPECT_EQ(whole->containers_size(), 2);
  EXPECT_GE(server_->figures().calls, 3U);
}

TEST_F(Server, SaysThatItIsStartingBeforeTheFirstView) {
  start();
  const auto node = client().get_node();
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().code, Errc::kUnavailable);
  EXPECT_THAT(node.error().text, HasSubstr("the agent is starting"));
}

TEST_F(Server, PlansWithoutDoing) {
  publish(empty_view());
  start();
  v1::PlanRequest plan;
  plan.add_requests()->set_id("a");
  plan.mutable_requests(0)->set_cpus(2);
  Client caller = client();
  const auto response = caller.plan(plan);
  ASSERT_TRUE(response) << response.error().text;
  EXPECT_TRUE(response->outcomes(0).has_placement());
  EXPECT_EQ(caller.get_node()->sets().exclusive(), "");

  plan.mutable_requests(0)->set_align("core");
  const auto refused = caller.plan(plan);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalid);
  EXPECT_THAT(refused.error().text, HasSubstr("requests[0] 'a': align 'core'"));
}

TEST_F(Server, SaysWhatIsWrongWithALongId) {
  publish(empty_view());
  start();
  v1::PlanRequest plan;
  plan.add_requests()->set_id(std::string(100'000, 'x'));
  const auto refused = client().plan(plan);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalid);
  EXPECT_THAT(refused.error().text, HasSubstr("xx': cpus must be from 1"));
}

TEST_F(Server, RefusesARequestThatIsTooLarge) {
  publish(empty_view());
  start();
  v1::PlanRequest plan;
  plan.add_requests()->set_id(std::string(2U << 20U, 'x'));
  const auto refused = client().plan(plan);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kExhausted);
}

TEST_F(Server, SocketIsItsOwnersAlone) {
  start();
  struct stat found {};
  ASSERT_EQ(stat(socket().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  server_->stop();
  EXPECT_NE(stat(socket().c_str(), &found), 0) << "removed at the end";
}

TEST_F(Server, TakesThePlaceOfADeadOne) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
  {
    const Fd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  publish(empty_view());
  start();
  EXPECT_TRUE(client().get_node());
}

TEST_F(Server, DoesNotTakeThePlaceOfALivingOne) {
  publish(empty_view());
  start();
  const auto second = ApiServer::start(options_, views_, samples_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().text, HasSubstr("already"));
  EXPECT_TRUE(client().get_node());
}

TEST_F(Server, PathMayHoldAnyCharacterButAComma) {
  options_.listen = "unix:" + (directory_.path() / "a b%41#?.sock").string();
  publish(empty_view());
  start();
  EXPECT_EQ(server_->address(), options_.listen);
  EXPECT_TRUE(std::filesystem::exists(directory_.path() / "a b%41#?.sock"));
  EXPECT_TRUE(client().get_node());
}

TEST_F(Server, ErrorsSayWhatToChange) {
  const std::pair<std::string, const char*> cases[] = {
      {"/run/x", "use unix:PATH or ADDR:PORT"},
      {"127.0.0.1:0", "mutual TLS only"},
      {"unix:" + (directory_.path() / "none" / "s").string(), "directory"},
  };
  for (const auto& [listen, text] : cases) {
    options_.listen = listen;
    const auto server = ApiServer::start(options_, views_, samples_);
    ASSERT_FALSE(server) << listen;
    EXPECT_THAT(server.error().text, AllOf(HasSubstr("serve gRPC"), HasSubstr(text)));
  }
}

TEST_F(Server, ClientSaysThatNobodyIsThere) {
  const std::string address = "unix:" + socket();
  const auto missing = Client::connect(address);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::kUnavailable);
  EXPECT_EQ(missing.error().text, "no agent listens at " + address + ": is pinion-agent running?");
  publish(empty_view());
  start();
  Client caller = client();
  ASSERT_TRUE(caller.get_node());
  server_->stop();
  const auto stopped = caller.get_node();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().text, missing.error().text);
}

// A call of a standard service by the path of its method.
template <class Request, class Response>
std::optional<Response> call(const std::shared_ptr<grpc::Channel>& channel, const char* method,
                             const Request& request) {
  grpc::TemplatedGenericStub<Request, Response> stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  Response response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, method, {}, &request, &response,
                 [&done](const grpc::Status& status) { done.set_value(status); });
  const grpc::Status status = done.get_future().get();
  if (!status.ok()) return std::nullopt;
  return response;
}

// One question to the reflection service, which is a stream both ways.
std::optional<test::ReflectionResponse> reflect(const std::shared_ptr<grpc::Channel>& channel,
                                                const test::ReflectionRequest& request) {
  grpc::TemplatedGenericStub<test::ReflectionRequest, test::ReflectionResponse> stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  const auto step = [&] { return queue.Next(&tag, &ok) && ok; };
  const auto stream = stub.PrepareCall(
      &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  stream->StartCall(nullptr);
  bool answered = step();
  test::ReflectionResponse response;
  if (answered) {
    stream->Write(request, nullptr);
    answered = step();
  }
  if (answered) {
    stream->Read(&response, nullptr);
    answered = step();
  }
  context.TryCancel();
  grpc::Status status;
  stream->Finish(&status, nullptr);
  step();
  queue.Shutdown();
  if (!answered) return std::nullopt;
  return response;
}

TEST_F(Server, HealthIsServing) {
  publish(empty_view());
  start();
  const auto channel = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
  for (const char* service : {"", "pinion.v1.Node"}) {
    test::HealthRequest request;
    request.set_service(service);
    const auto response = call<test::HealthRequest, test::HealthResponse>(
        channel, "/grpc.health.v1.Health/Check", request);
    ASSERT_TRUE(response) << service;
    EXPECT_EQ(response->status(), 1) << service;
  }
  test::HealthRequest unknown;
  unknown.set_service("pinion.v1.Nonsense");
  EXPECT_FALSE((call<test::HealthRequest, test::HealthResponse>(
      channel, "/grpc.health.v1.Health/Check", unknown)));
}

TEST_F(Server, ReflectionListsTheServicesAndTheirFiles) {
  start();
  const auto channel = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
  test::ReflectionRequest list;
  list.set_list_services("*");
  const auto services = reflect(channel, list);
  ASSERT_TRUE(services);
  std::vector<std::string> names;
  for (const auto& service : services->services().service()) names.push_back(service.name());
  EXPECT_THAT(names, Contains("pinion.v1.Node"));
  EXPECT_THAT(names, Contains("grpc.health.v1.Health"));

  test::ReflectionRequest file;
  file.set_file_containing_symbol("pinion.v1.Node");
  const auto files = reflect(channel, file);
  ASSERT_TRUE(files);
  ASSERT_EQ(files->files().file_size(), 1);
  EXPECT_THAT(files->files().file(0), HasSubstr("WatchNodeRequest"));
}

TEST_F(Server, LivesThroughGarbage) {
  publish(empty_view());
  start();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
  const std::string garbage[] = {
      "",
      std::string(100'000, '\xff'),
      std::string(1000, '\0'),
      "GET / HTTP/1.1\r\n\r\n",
      preface.substr(0, 10),
      preface + std::string(64, '\xff'),
      preface + settings + std::string("\0\0\5\1\4\0\0\0\1\xff\xff\xff\xff\xff", 14),
      preface + settings + std::string("\xff\xff\xff\0\0\0\0\0\1", 9),
  };
  for (const std::string& bytes : garbage) {
    const Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    // The server may hang up in the middle.
    (void)!send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ::shutdown(socket.get(), SHUT_WR);
    char answer[512];
    while (recv(socket.get(), answer, sizeof(answer), 0) > 0) {
    }
    EXPECT_TRUE(client().get_node());
  }
}

// Of which 16 in each of three pools would come with a node of many CPUs.
TEST_F(Server, HasFewThreadsOnEveryMachine) {
  EXPECT_EQ(gpr_cpu_num_cores(), 1U) << "gRPC's own is linked";
  publish(empty_view());
  start();
  ASSERT_TRUE(client().get_node());
  const std::filesystem::directory_iterator threads("/proc/self/task");
  EXPECT_LE(std::distance(begin(threads), end(threads)), 16);
}

TEST(Instance, IsAnotherEachTime) {
  const std::string one = new_instance();
  EXPECT_EQ(one.size(), 16U);
  EXPECT_EQ(one.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(one, new_instance());
}

}  // namespace
}  // namespace pinion::agent::api
