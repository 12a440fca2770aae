#include "recurrent/kernels/persistent/sizes.h"

namespace rnnlab::kernels::persistent {

RNNLAB_PERSISTENT_OF(, __half);

}  // namespace rnnlab::kernels::persistent
