# Install rules: the library, its headers, and what find_package and pkg-config read.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/takt")

install(TARGETS takt EXPORT takt INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT takt NAMESPACE takt:: FILE takt-targets.cmake DESTINATION "${config_dir}")
install(DIRECTORY include/takt DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp")

configure_package_config_file(cmake/takt-config.cmake.in takt-config.cmake
                              INSTALL_DESTINATION "${config_dir}")
# Before 1.0 a new minor version may break its users.
write_basic_package_version_file(takt-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/takt-config.cmake"
              "${PROJECT_BINARY_DIR}/takt-config-version.cmake" DESTINATION "${config_dir}")

# Relative to where the file lies, so that the installed tree can be moved.
file(RELATIVE_PATH pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
set(pc_definitions "")
if(TAKT_PORTABLE_PARKING)
  set(pc_definitions " -DTAKT_PORTABLE_PARKING")
endif()
configure_file(cmake/takt.pc.in takt.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/takt.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
