# The addon, mostly the native codec: our sources, and the C++ sources in the npm package simdjson, whose own addon is not built.
{
  "variables": {
    "simdjson_dir": "node_modules/simdjson/simdjson/src",
  },
  "targets": [
    {
      "target_name": "understudy_codec",
      "sources": [
        # First: these take the compiler longest.
        "<(simdjson_dir)/simdjson.cpp",
        "src/codec/native/text_measures.cc",
        "src/codec/native/addon.cc",
        "src/base/native/descriptors.cc",
        "src/base/native/process.cc",
        "src/model/image/native/js_weighted_means.cc",
        "src/model/image/native/weighted_means.cc",
        "src/codec/native/column_program.cc",
        "src/codec/native/column_memory.cc",
        "src/codec/native/cycle_table.cc",
        "src/codec/native/date_time.cc",
        "src/codec/native/decoder.cc",
        "src/codec/native/fingerprint.cc",
        "src/codec/native/float_text.cc",
        "src/codec/native/js_column_program.cc",
        "src/codec/native/js_decoder.cc",
        "src/codec/native/js_response_rows.cc",
        "src/codec/native/key_table.cc",
        "src/codec/native/response_rows.cc",
        "src/codec/native/scalars.cc",
        "src/codec/native/structural_index.cc",
      ],
      "include_dirs": ["<(simdjson_dir)", "node_modules/node-addon-api", "src/base/native", "src/model/image/native"],
      # NODE_API_…: where a worker is being terminated no exception can be thrown, and the C++ wrapper would abort the process.
      # SIMDJSON_…: processors without AVX2 use the portable code; each kernel takes the compiler seconds.
      "defines": ["NAPI_VERSION=8", "NAPI_CPP_EXCEPTIONS", "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS",
                  "SIMDJSON_IMPLEMENTATION_WESTMERE=0"],
      "cflags!": ["-fno-exceptions", "-O2"],
      "cflags_cc!": ["-fno-exceptions", "-fno-rtti", "-std=gnu++17", "-std=gnu++20", "-O2"],
      # -ffp-contract=off: a product and a sum are rounded separately, as in JavaScript, so that column programs give the
      # same bits there. -fno-trapping-math changes no result; without it conditional expressions are not vectorised.
      # -Wno-psabi: vectors of 32 bytes are passed only between functions of one file.
      "cflags_cc": ["-std=c++17", "-O3", "-fvisibility=hidden", "-ffp-contract=off", "-fno-trapping-math", "-Wno-psabi"],
      "xcode_settings": {
        "CLANG_CXX_LANGUAGE_STANDARD": "c++17",
        "GCC_ENABLE_CPP_EXCEPTIONS": "YES",
        "GCC_OPTIMIZATION_LEVEL": "3",
        "GCC_SYMBOLS_PRIVATE_EXTERN": "YES",
        "MACOSX_DEPLOYMENT_TARGET": "13.3",
        "OTHER_CPLUSPLUSFLAGS": ["-ffp-contract=off", "-fno-trapping-math"],
      },
    },
  ],
}
