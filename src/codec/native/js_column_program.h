// Column programs as JavaScript sees them. All that comes from JavaScript is checked here.
#pragma once

#include <memory>

#include "column_program.h"
#include "napi.h"

namespace understudy {

/// `new ColumnProgram(program)`, an object as `ColumnProgram` in codec/column-program.ts describes it. Throws
/// a TypeError for one that is not sound.
class js_column_program : public Napi::ObjectWrap<js_column_program> {
 public:
  [[nodiscard]] static Napi::Function define(Napi::Env env);

  explicit js_column_program(const Napi::CallbackInfo& info);

  /// `run(inputs, matrix: Float32Array)`, inputs as `ColumnInputs` in codec/column-program.ts describes them.
  /// Throws a RangeError, and writes nothing, when they do not fit together.
  void run(const Napi::CallbackInfo& info);

 private:
  std::unique_ptr<column_evaluator> evaluator_;
  /// Kept from call to call for its memory.
  column_inputs inputs_;
};

}  // namespace understudy
