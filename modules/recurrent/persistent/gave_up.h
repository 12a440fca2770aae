// Where a kernel leaves word that a block waited in vain for another, for the host to find without waiting for it.
#pragma once

namespace rnnlab {

// Memory of the process that host and devices see; 0 as long as nothing happened.
int* gave_up_flag();

// UserError kDevice, once, after a kernel gave up.
void require_that_none_gave_up();

}  // namespace rnnlab
