// Pages of a file that this process has mapped, as JavaScript sees them.
#pragma once

#include "napi.h"

namespace understudy {

/// `releaseMappedPages(path)`: takes the pages of a file out of this process's page tables wherever it is mapped shared
/// and for reading alone; whoever reads them next gets them back from the kernel's cache. Returns how many bytes of
/// address space that were, 0 where nothing is mapped or the system does not tell.
Napi::Value release_mapped_pages(const Napi::CallbackInfo& info);

}  // namespace understudy
