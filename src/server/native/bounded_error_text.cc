// lmdb-js 3.5.6 words a failed write (mdb.c, mdb_page_flush: a full disk, an I/O error) with sprintf into 100 bytes, and
// the words are often a few longer: the heap is overwritten and the process aborts. Here those words end where their
// memory does. All other texts are formatted as ever.
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace {
constexpr char failed_write[] = "Attempting to write page at position";
constexpr size_t failed_write_bytes = 100;
}  // namespace

extern "C" int sprintf(char *text, const char *format, ...) noexcept {
  va_list values;
  va_start(values, format);
  const bool is_failed_write = strncmp(format, failed_write, sizeof failed_write - 1) == 0;
  const int length =
      is_failed_write ? vsnprintf(text, failed_write_bytes, format, values) : vsprintf(text, format, values);
  va_end(values);
  return length;
}
