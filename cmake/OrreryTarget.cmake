# One INTERFACE target carries every compile flag; orrery_library() makes one library per room.
find_program(ORRERY_CCACHE ccache)
if(ORRERY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ORRERY_CCACHE})
endif()

option(ORRERY_WERROR "Treat warnings as errors" ON)
set(ORRERY_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")

add_library(orrery_flags INTERFACE)
target_compile_features(orrery_flags INTERFACE cxx_std_20)
target_include_directories(orrery_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(orrery_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wswitch-enum
                       $<$<BOOL:${ORRERY_WERROR}>:-Werror>)
if(ORRERY_SANITIZE)
  target_compile_options(orrery_flags INTERFACE -fsanitize=${ORRERY_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all
                         # g++ warns of the standard library's own code (std::regex) when it is instrumented.
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(orrery_flags INTERFACE -fsanitize=${ORRERY_SANITIZE})
endif()

# orrery_library(NAME SOURCES a.cpp ... LINKS other ...)
function(orrery_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC orrery_flags ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
endfunction()

# orrery_test(NAME LABEL fast|slow SOURCES a_test.cpp ... LINKS ...): one GoogleTest program; each of its
# tests is a ctest test. Tests run in the source root, so that "models/zoo/..." paths work.
function(orrery_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE orrery_flags GTest::gmock GTest::gtest GTest::gtest_main ${ARG_LINKS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  include(GoogleTest)
  gtest_discover_tests(${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} DISCOVERY_TIMEOUT 120
                       PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 600)
endfunction()
