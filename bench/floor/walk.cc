// Measures the walk of walk.h: `walk FILE ROUNDS` prints the median in milliseconds and the number of values.
#include "walk.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argument_count, char** arguments) {
  if (argument_count != 3) {
    std::fputs("usage: walk FILE ROUNDS\n", stderr);
    return 2;
  }
  simdjson::padded_string body;
  error_code error = simdjson::padded_string::load(arguments[1]).get(body);
  ondemand::parser parser;
  std::vector<double> rounds_ms;
  tally seen;
  const int round_count = std::max(1, std::atoi(arguments[2]));
  for (int round = 0; round < round_count && !error; round++) {
    seen = {};
    const auto start = std::chrono::steady_clock::now();
    error = walk(parser, body, seen);
    rounds_ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  if (error) {
    std::fprintf(stderr, "%s\n", simdjson::error_message(error));
    return 1;
  }
  std::sort(rounds_ms.begin(), rounds_ms.end());
  std::printf("{\"ms\":%.4f,\"values\":%llu,\"sum\":%llu}\n", rounds_ms[rounds_ms.size() / 2],
              static_cast<unsigned long long>(seen.values), static_cast<unsigned long long>(seen.sum));
}
