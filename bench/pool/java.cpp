// java.util.concurrent (see JavaPools.java) and RxJava (see RxWorkers.java).
#include "peers/java.hpp"

#include <sstream>
#include <string>

#include "pool.hpp"

namespace bench {
namespace {

constexpr const char* source = "pool/JavaPools.java";

competitor in_java(const std::string& pool, const std::string& workload, std::int64_t tasks) {
  return {"java " + pool, [=](const request& asked) {
            std::ostringstream question;
            question << workload << ' ' << pool << ' ' << asked.amount(tasks);
            for (const auto& [name, value] : asked.parameters) question << ' ' << value;
            return ask_java(source, question.str());
          }};
}

competitor rx_java_worker(const std::string& name, bool tracked) {
  return {name, [=](const request& asked) {
            std::ostringstream question;
            question << asked.amount(many_tasks) << ' ' << asked["producers"] << ' '
                     << std::boolalpha << tracked;
            return ask_java("pool/RxWorkers.java", question.str(),
                            {.path = "/usr/share/java/rxjava.jar", .package = "librx-java"});
          }};
}

}  // namespace

pool_competitors java_pools() {
  const char* fixed = "ThreadPoolExecutor";
  const char* fork_join = "ForkJoinPool";
  return {
      .submit = {in_java(fixed, "submit", many_tasks), in_java(fork_join, "submit", many_tasks)},
      .spawn = {{"java ForkJoinPool",
                 [](const request& asked) {
                   return ask_java(source, "spawn ForkJoinPool " + std::to_string(depth_of(asked)));
                 }}},
      .wake = {in_java(fixed, "wake", wake_tasks), in_java(fork_join, "wake", wake_tasks)},
      .serial = {in_java(fixed, "serial", many_tasks), rx_java_worker("RxJava worker", false),
                 rx_java_worker("RxJava worker (tracked)", true)},
      .stop = {in_java(fixed, "stop", many_tasks)}};
}

}  // namespace bench
