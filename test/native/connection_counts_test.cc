// Connections that come and go at random, against a list of who is there. Built and run by
// test/http-framing.test.ts; silent when all is well.
#include "../../src/server/native/connection_counts.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

using understudy::connection_counts;

int failure_count = 0;

void check(bool holds, const char *rule, const std::string &about) {
  if (holds || failure_count++ > 5) return;
  std::fprintf(stderr, "broken: %s\nfor: %s\n", rule, about.c_str());
}

connection_counts::origin origin_of(const std::string &text) {
  sockaddr_storage storage{};
  auto *four = reinterpret_cast<sockaddr_in *>(&storage);
  auto *six = reinterpret_cast<sockaddr_in6 *>(&storage);
  if (inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    return connection_counts::origin_of(reinterpret_cast<sockaddr *>(&storage), sizeof *four);
  }
  check(inet_pton(AF_INET6, text.c_str(), &six->sin6_addr) == 1, "the test knows addresses", text);
  six->sin6_family = AF_INET6;
  return connection_counts::origin_of(reinterpret_cast<sockaddr *>(&storage), sizeof *six);
}

void check_origins() {
  for (const char *text : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
    check(origin_of(text) == connection_counts::uncounted, "this machine is not counted", text);
  }
  for (const char *text : {"192.0.2.1", "128.0.0.1", "2001:db8::1", "::ffff:192.0.2.1", "fe80::1"}) {
    check(origin_of(text) != connection_counts::uncounted, "other machines are counted", text);
  }
  check(origin_of("192.0.2.1") == origin_of("::ffff:192.0.2.1"), "a mapped address is its IPv4 address", "192.0.2.1");
  check(origin_of("192.0.2.1") != origin_of("192.0.2.2"), "IPv4 addresses differ", "192.0.2.1");
  check(origin_of("2001:db8::1") == origin_of("2001:db8::ffff:2"), "a /64 is one", "2001:db8::");
  check(origin_of("2001:db8::1") != origin_of("2001:db8:0:1::1"), "two of /64 are two", "2001:db8::");
  sockaddr local{};
  local.sa_family = AF_UNIX;
  check(connection_counts::origin_of(&local, sizeof local) == connection_counts::uncounted, "no address is none", "unix");
  check(connection_counts::origin_of(nullptr, 0) == connection_counts::uncounted, "nothing is none", "null");
  local.sa_family = AF_INET6;
  check(connection_counts::origin_of(&local, sizeof local) == connection_counts::uncounted, "a part is none", "short");
}

void check_counts() {
  std::mt19937_64 random(7);
  connection_counts counts;
  std::vector<connection_counts::origin> open;
  for (int step = 0; step < 200'000; step++) {
    const auto max = static_cast<std::size_t>(random() % 6);
    const connection_counts::origin from = random() % 8;  // 0 is `uncounted`.
    const auto count = static_cast<std::size_t>(std::count(open.begin(), open.end(), from));
    if (random() % 2 == 0) {
      const bool entered = counts.enter(from, max);
      check(entered == (from == connection_counts::uncounted || count < max), "as many as may enter, and no more",
            std::to_string(step));
      if (entered && from != connection_counts::uncounted) open.push_back(from);
    } else if (count > 0) {
      counts.leave(from);
      open.erase(std::find(open.begin(), open.end(), from));
    } else if (from == connection_counts::uncounted) {
      counts.leave(from);
    }
    std::vector<connection_counts::origin> distinct = open;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    check(counts.size() == distinct.size(), "only who is there is remembered", std::to_string(step));
  }
}

}  // namespace

int main() {
  check_origins();
  check_counts();
  return failure_count == 0 ? 0 : 1;
}
