# Install rules: the library, its headers, and what find_package and pkg-config read.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/takt")

install(TARGETS ${takt_components} takt EXPORT takt INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT takt NAMESPACE takt:: FILE takt-targets.cmake DESTINATION "${config_dir}")
install(DIRECTORY include/takt DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp")

configure_package_config_file(cmake/takt-config.cmake.in takt-config.cmake
                              INSTALL_DESTINATION "${config_dir}")
# Before 1.0 a new minor version may break its users.
write_basic_package_version_file(takt-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/takt-config.cmake"
              "${PROJECT_BINARY_DIR}/takt-config-version.cmake" DESTINATION "${config_dir}")

# takt_pkg_config(<name> <description> LIBS <flag>... REQUIRES <package>...): writes and installs <name>.pc. Its folders
# are relative to the file, so that the installed tree can be moved.
file(RELATIVE_PATH pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
function(takt_pkg_config pc_name pc_description)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LIBS;REQUIRES")
  list(JOIN arg_LIBS " " pc_libs)
  list(TRANSFORM arg_REQUIRES APPEND " = ${PROJECT_VERSION}")
  list(JOIN arg_REQUIRES ", " pc_requires)
  set(pc_definitions "")
  if(TAKT_PORTABLE_PARKING)
    set(pc_definitions " -DTAKT_PORTABLE_PARKING")
  endif()
  configure_file(cmake/takt.pc.in ${pc_name}.pc @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${pc_name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
takt_pkg_config(takt-core "Executors, timers, schedulers, cancellation" LIBS -ltakt_core -pthread)
takt_pkg_config(takt-rx "Subscriptions, workers, action schedulers, virtual time" LIBS -ltakt_rx REQUIRES takt-core)
takt_pkg_config(takt-service "Services with a lifecycle" LIBS -ltakt_service REQUIRES takt-core)
takt_pkg_config(takt "${PROJECT_DESCRIPTION}" REQUIRES takt-rx takt-service)
