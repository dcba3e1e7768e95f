# cmake --install, and the package that find_package(cohort) reads.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cohort)

install(TARGETS cohort EXPORT cohort INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# Seen from the prefix that is known when it is installed, unless the folder is absolute.
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(header_dir ${CMAKE_INSTALL_FULL_INCLUDEDIR}/cohort)
else()
  set(header_dir "\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/cohort")
endif()
# The headers are listed when they are installed: whatever cohort.h includes by then, and nothing else.
install(CODE "
  execute_process(COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/cmake/public_headers.py ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL \"[^\\n]+\" lines \"\${lines}\")
  foreach(line IN LISTS lines)
    string(REGEX MATCH \"^([^ ]+) ([^ ]+)$\" match \"\${line}\")
    set(source \${CMAKE_MATCH_1})
    get_filename_component(folder \${CMAKE_MATCH_2} DIRECTORY)
    file(INSTALL ${PROJECT_SOURCE_DIR}/\${source} DESTINATION ${header_dir}/\${folder} MESSAGE_NEVER)
  endforeach()")
install(EXPORT cohort FILE cohortTargets.cmake NAMESPACE cohort:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/cohortConfig.cmake.in
    ${PROJECT_BINARY_DIR}/cohortConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cohortConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cohortConfig.cmake ${PROJECT_BINARY_DIR}/cohortConfigVersion.cmake
        DESTINATION ${package_dir})
