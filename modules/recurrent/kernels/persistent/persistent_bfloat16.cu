#include "recurrent/kernels/persistent/sizes.h"

namespace rnnlab::kernels::persistent {

RNNLAB_PERSISTENT_OF(, __nv_bfloat16);

}  // namespace rnnlab::kernels::persistent
