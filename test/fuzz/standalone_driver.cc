// Runs a fuzz target without libFuzzer: on every file of a corpus, then on mutations of these files from a fixed seed.
//   target ROUNDS [CORPUS]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes);

namespace {

using input = std::vector<uint8_t>;

constexpr size_t input_bytes_max = 8192;

std::vector<input> read_corpus(const char* directory) {
  std::vector<input> inputs;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::ifstream file(entry.path(), std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

/// A copy of `from` with one to four changes: a byte replaced, a part removed, repeated or replaced by new bytes.
input mutated(const input& from, std::mt19937& random) {
  input result = from;
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % (bound == 0 ? 1 : bound)); };
  for (size_t change = 0; change <= below(4); change++) {
    const size_t at = below(result.size());
    const size_t count = std::min(result.size() - at, below(64) + 1);
    const auto first = result.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = first + static_cast<std::ptrdiff_t>(count);
    switch (below(4)) {
      case 0:
        if (!result.empty()) result[at] = static_cast<uint8_t>(random());
        break;
      case 1:
        result.erase(first, last);
        break;
      case 2: {
        const input part(first, last);
        result.insert(first, part.begin(), part.end());
        break;
      }
      default: {
        input bytes(below(512));
        for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
        result.insert(first, bytes.begin(), bytes.end());
      }
    }
  }
  if (result.size() > input_bytes_max) result.resize(input_bytes_max);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 0;
  std::vector<input> inputs = {{}};
  if (argc > 2) inputs = read_corpus(argv[2]);
  std::mt19937 random(1);
  for (const input& one : inputs) LLVMFuzzerTestOneInput(one.data(), one.size());
  for (int round = 0; round < rounds; round++) {
    const input one = mutated(inputs[random() % inputs.size()], random);
    LLVMFuzzerTestOneInput(one.data(), one.size());
  }
  std::printf("%zu inputs and %d mutations\n", inputs.size(), rounds);
}
