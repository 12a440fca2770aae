#include "recurrent/kernels/persistent/sizes.h"

namespace rnnlab::kernels::persistent {

RNNLAB_PERSISTENT_OF(, float);

}  // namespace rnnlab::kernels::persistent
