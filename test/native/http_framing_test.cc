// Streams of requests cut at every place: where a request ends, and what is masked, must not depend on how the bytes
// arrive. Also noise, for the sanitizers. Built and run by test/http-framing.test.ts; silent when all is well.
#include "../../src/server/native/http_framing.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using offsets = std::vector<std::size_t>;

int failure_count = 0;

void check(bool holds, const char *rule, const std::string &stream) {
  if (holds || failure_count++ > 5) return;
  std::fprintf(stderr, "broken: %s\nin: %s\n", rule, stream.c_str());
}

bool contains(const offsets &list, std::size_t offset) { return std::find(list.begin(), list.end(), offset) != list.end(); }

struct run {
  offsets starts;     // Where a request was expected to start.
  offsets ends;       // Where one was seen to end.
  std::string bytes;  // The stream as the server would see it.
};

// Feeds `stream` as recv(2) does in one_request_at_a_time.cc: all that is there up to the next cut, and again what was
// not taken. Pieces lie in buffers of just the size they need, so that the sanitizer sees a byte too many.
run feed(const std::string &stream, offsets cuts) {
  cuts.push_back(stream.size());
  understudy::http_framing framing;
  run result;
  std::size_t at = 0;
  check(framing.fresh(), "a connection is fresh before its first byte", stream);
  for (const std::size_t cut : cuts) {
    while (at < cut) {
      std::size_t there = cut - at;
      if (const auto left = framing.body_bytes_left(); left > 0) {
        there = std::min<std::size_t>(there, static_cast<std::size_t>(left));
        framing.skip_body(there);
        result.bytes.append(stream, at, there);
        at += there;
        if (framing.body_bytes_left() == 0) result.ends.push_back(at);
        continue;
      }
      const bool at_start = framing.at_start();
      constexpr std::size_t added_max = understudy::http_framing::added_bytes_max;
      const std::unique_ptr<char[]> piece(new char[there + added_max]);
      std::copy_n(stream.data() + at, there, piece.get());
      const auto [taken, kept] = framing.advance(piece.get(), there);
      check(!framing.fresh(), "a connection is fresh only before its first byte", stream);
      if (taken < 1 || taken > there || kept > taken + added_max) {
        check(false, "an advance takes at least one byte and at most all, and keeps hardly more than it takes", stream);
        return result;
      }
      result.bytes.append(piece.get(), kept);
      const bool is_blank = at_start && kept == 0;
      if (at_start && !is_blank) result.starts.push_back(at);
      at += taken;
      if (taken < there && !is_blank) result.ends.push_back(at);
    }
  }
  return result;
}

void check_cuts(const std::string &stream, const run &wanted, const offsets &cuts) {
  const run found = feed(stream, cuts);
  for (const std::size_t end : found.ends) check(contains(wanted.ends, end), "a request ends only where it ends", stream);
  check(found.starts == wanted.starts, "a request starts where one ends, or behind empty lines there", stream);
  // An end at a cut is not seen: nothing lies behind it yet.
  for (const std::size_t end : wanted.ends) {
    check(end == stream.size() || contains(cuts, end) || contains(found.ends, end), "no end is overlooked", stream);
  }
  check(found.bytes == wanted.bytes, "the bytes seen do not depend on the cuts", stream);
}

// `requests` one after another; `seen` is what the server sees of them: of an empty line before one, nothing.
void check_stream(const std::vector<std::string> &requests, const std::vector<std::string> &seen, std::mt19937 &random) {
  std::string stream;
  run wanted;
  for (std::size_t i = 0; i < requests.size(); i++) {
    if (!seen[i].empty()) wanted.starts.push_back(stream.size());
    stream += requests[i];
    wanted.bytes += seen[i];
    if (!seen[i].empty()) wanted.ends.push_back(stream.size());
  }
  offsets singly;
  for (std::size_t cut = 0; cut < stream.size(); cut++) {
    check_cuts(stream, wanted, {cut});
    check_cuts(stream, wanted, singly);
    singly.push_back(cut + 1);
  }
  for (int round = 0; round < 300; round++) {
    offsets cuts(1 + random() % 6);
    for (std::size_t &cut : cuts) cut = random() % stream.size();
    std::sort(cuts.begin(), cuts.end());
    check_cuts(stream, wanted, cuts);
  }
}

struct sample {
  std::string request;
  std::string seen;
};

std::vector<sample> samples() {
  const std::string post = "POST /v1/cycles HTTP/1.1\r\nHost: x\r\n";
  const std::string key = "Authorization: key-0123456789";
  const std::vector<std::string> plain = {
      "GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET / HTTP/1.1\nHost: x\n\n",
      post + "Content-Length: 5\r\n\r\nab\r\n\r",
      post + "content-LENGTH:  13 \r\n\r\nGET / HTTP/1.",
      post + "Content-Length: 0\r\n\r\n",
      post + "Content-Length: 40\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n.",
      post + "X-Content-Length: 7\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n4\r\n\x16\x03\x01\n\r\n1\r\n\x16\r\n0\r\n\r\n",
      post + "Content-Length: 3\r\nX-Long: " + std::string(300, 'y') + "\r\n\r\n\x16\x16\x16",
      post + "Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\n{}",
      post + key + "\r\n\r\n",
      post + "Content-Length:" + std::string(70, ' ') + "5\r\n\r\nhello",
      post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXY0\r\n\r\n",
      post + "X-Authorization: \xe9\r\nX: Authorization:\xff\r\n\r\n",
  };
  std::vector<sample> all;
  for (const std::string &request : plain) all.push_back({request, request});
  all.push_back({"\r\n", ""});
  all.push_back({post + key + "\xe9\r\n\r\n", post + key + "\x7f\r\n\r\n"});
  all.push_back({post + "authorization:\x80" + "a\xffz\r\nTitle: \xea\xb0\x80\r\n\r\n",
                 post + "authorization:\x7f" + "a\x7fz\r\nTitle: \xea\xb0\x80\r\n\r\n"});
  all.push_back({post + "Upgrade: x\r\n" + key + "\xe9\r\nContent-Length: 2\r\n\r\n\xe9\xe9",
                 post + "Upgrade: x\r\n" + key + "\x7f\r\nContent-Length: 2\r\n\r\n\xe9\xe9"});
  all.push_back({post + "Transfer-Encoding: chunked\r\n" + key + std::string(200, 'k') + "\xe9\r\n\r\n1\r\n\xe9\r\n0\r\n\r\n",
                 post + "Transfer-Encoding: chunked\r\n" + key + std::string(200, 'k') + "\x7f\r\n\r\n1\r\n\xe9\r\n0\r\n\r\n"});
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  all.push_back({chunked + "A;name=value;5=6\r\n0\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n",
                 chunked + "A               \r\n0\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n"});
  all.push_back({chunked + "0b \t; x=\"\xff\"\r\nhello\r\nworl\r\n0;last\r\nA: b\r\nContent-Length: 9\r\n\r\n",
                 chunked + "0b         \r\nhello\r\nworl\r\n0     \r\n\r\n"});
  all.push_back({chunked + "0\r\nA:\r\n\tb\r\n;\n\r\n", chunked + "0\r\n\r\n"});
  all.push_back({chunked + "5\rA\r\nhello\r\n0\r\n\r\n", chunked + "5\r \r\nhello\r\n0\r\n\r\n"});
  all.push_back({post + "eXPECT: 100-Continue\r\nX: Expect:A\r\n\r\n", post + "eXPECT: 100-continue\r\nX: Expect:A\r\n\r\n"});
  all.push_back({post + ": x\r\nContent-Length: 2\r\n\r\n{}", post + "\x7f x\r\nContent-Length: 2\r\n\r\n{}"});
  return all;
}

// As long as trailers may come, the server must not take the body for whole.
void check_last_chunk() {
  const std::string before = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r";
  const std::string end = "\nA: b\r\n\r\n";
  for (std::size_t size = 0; size < end.size(); size++) {
    const std::string stream = before + end.substr(0, size);
    check(feed(stream, {}).bytes == before, "the last chunk ends with its message", stream);
  }
  check(feed(before + end, {}).bytes == before + "\n\r\n", "the last chunk ends with its message", before + end);
}

// Bytes out of which framing is made, without any.
void check_noise(std::mt19937 &random) {
  const std::vector<std::string> words = {"\r\n", "\n", "\r", "0", "f", "ffffffffffffffff", ";", ":", "\x16", "\xe9", " ",
                                          "GET / HTTP/1.1\r\n", "Content-Length:", "18446744073709551616",
                                          "Transfer-Encoding: chunked\r\n", "Authorization:", "\r\n\r\n", "z"};
  for (int round = 0; round < 3000; round++) {
    std::string stream;
    for (int word = 0; word < 30; word++) stream += words[random() % words.size()];
    const offsets cuts = {random() % stream.size()};
    check(feed(stream, cuts).bytes == feed(stream, {}).bytes, "the bytes seen do not depend on the cuts", stream);
  }
}

}  // namespace

int main() {
  std::mt19937 random(1);
  const std::vector<sample> all = samples();
  for (const sample &one : all) {
    check_stream({one.request}, {one.seen}, random);
    for (const sample &other : all) check_stream({one.request, other.request}, {one.seen, other.seen}, random);
  }
  std::vector<std::string> requests;
  std::vector<std::string> seen;
  for (const sample &one : all) {
    requests.push_back(one.request);
    seen.push_back(one.seen);
  }
  check_stream(requests, seen, random);
  check_last_chunk();
  check_noise(random);
  return failure_count == 0 ? 0 : 1;
}
