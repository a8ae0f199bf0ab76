"""Machine code by LLVM: text, arithmetic, conversions, how a kernel is made and kept."""
