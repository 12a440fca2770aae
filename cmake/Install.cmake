# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` copies: the program with its libraries, and for other CMake projects the headers of all modules
# with rnnlab-config.cmake. The component "wheel" is what scripts/package puts into the wheel.

include(CMakePackageConfigHelpers)

get_property(rnnlab_libraries GLOBAL PROPERTY RNNLAB_MODULES)
if(TARGET rnnlab_cuda)
  list(APPEND rnnlab_libraries rnnlab_cuda)
endif()
set_target_properties(rnnlab ${rnnlab_libraries} PROPERTIES
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../lib;${torch_real}/lib;${torch_neighbours}")

add_custom_target(wheel_files DEPENDS rnnlab ${rnnlab_libraries})
install(TARGETS rnnlab RUNTIME DESTINATION bin COMPONENT wheel EXCLUDE_FROM_ALL)
install(TARGETS ${rnnlab_libraries} LIBRARY DESTINATION lib COMPONENT wheel EXCLUDE_FROM_ALL)
install(FILES "${CMAKE_BINARY_DIR}/lib/torch_version" DESTINATION lib COMPONENT wheel EXCLUDE_FROM_ALL)

# ---- for programs and other projects ----
set(exported base results data layers train runs)
list(TRANSFORM exported PREPEND rnnlab_ OUTPUT_VARIABLE exported_targets)
list(REMOVE_ITEM rnnlab_libraries ${exported_targets})
install(TARGETS rnnlab RUNTIME DESTINATION bin)
install(TARGETS ${rnnlab_libraries} LIBRARY DESTINATION lib)
install(TARGETS ${exported_targets} rnnlab_torch EXPORT rnnlab LIBRARY DESTINATION lib)
set_target_properties(rnnlab_torch PROPERTIES EXPORT_NAME torch)
install(EXPORT rnnlab NAMESPACE rnnlab:: FILE rnnlab-targets.cmake DESTINATION lib/cmake/rnnlab)
foreach(module IN LISTS exported)
  install(DIRECTORY "${CMAKE_SOURCE_DIR}/modules/${module}" DESTINATION include/rnnlab
    FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
endforeach()

set(version "${CMAKE_BINARY_DIR}/rnnlab-config-version.cmake")
write_basic_package_version_file("${version}" COMPATIBILITY SameMinorVersion)
configure_file(cmake/rnnlab-config.cmake.in "${CMAKE_BINARY_DIR}/rnnlab-config.cmake" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/rnnlab-config.cmake" "${version}" DESTINATION lib/cmake/rnnlab)
