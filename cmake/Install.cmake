# What `cmake --install` copies: the program with its libraries, and for other CMake projects the headers of the
# recurrent layers with rnnlab-config.cmake. The component "python" is what the wheel holds beside the Python module.

include(CMakePackageConfigHelpers)

set(RNNLAB_INSTALL_RPATH "" CACHE STRING
  "Where installed libraries look for others; by default their own folder and the LibTorch of this build")
set(rnnlab_rpath "${RNNLAB_INSTALL_RPATH}")
if(NOT rnnlab_rpath)
  set(rnnlab_rpath "$ORIGIN;$ORIGIN/../lib;${torch_real}/lib;${torch_neighbours}")
endif()

get_property(rnnlab_libraries GLOBAL PROPERTY RNNLAB_MODULES)
if(TARGET rnnlab_cuda)
  list(APPEND rnnlab_libraries rnnlab_cuda)
endif()
set_target_properties(rnnlab ${rnnlab_libraries} PROPERTIES INSTALL_RPATH "${rnnlab_rpath}")

install(TARGETS rnnlab RUNTIME DESTINATION bin COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS ${rnnlab_libraries} LIBRARY DESTINATION lib COMPONENT python EXCLUDE_FROM_ALL)

# ---- for programs and other projects ----
set(exported base config system gpu kernels recurrent)
list(TRANSFORM exported PREPEND rnnlab_ OUTPUT_VARIABLE exported_targets)
list(REMOVE_ITEM rnnlab_libraries ${exported_targets})
install(TARGETS rnnlab RUNTIME DESTINATION bin)
install(TARGETS ${rnnlab_libraries} LIBRARY DESTINATION lib)
install(TARGETS ${exported_targets} rnnlab_torch EXPORT rnnlab LIBRARY DESTINATION lib)
set_target_properties(rnnlab_torch PROPERTIES EXPORT_NAME torch)
install(EXPORT rnnlab NAMESPACE rnnlab:: FILE rnnlab-targets.cmake DESTINATION lib/cmake/rnnlab)
foreach(module base config system gpu recurrent)
  install(DIRECTORY "${CMAKE_SOURCE_DIR}/modules/${module}" DESTINATION include/rnnlab
    FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
endforeach()

set(version "${CMAKE_BINARY_DIR}/rnnlab-config-version.cmake")
write_basic_package_version_file("${version}" COMPATIBILITY SameMinorVersion)
configure_file(cmake/rnnlab-config.cmake.in "${CMAKE_BINARY_DIR}/rnnlab-config.cmake" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/rnnlab-config.cmake" "${version}" DESTINATION lib/cmake/rnnlab)
