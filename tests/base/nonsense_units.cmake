# Checks that every marked line of nonsense_units.cpp is refused by the compiler, and the rest of it is not.
#   cmake -D COMPILER=... -D ROOT=... -P nonsense_units.cmake
set(source ${ROOT}/tests/base/nonsense_units.cpp)
set(compile ${COMPILER} -std=c++20 -fsyntax-only -I${ROOT})

execute_process(COMMAND ${compile} -DCONTROL ${source} RESULT_VARIABLE code ERROR_VARIABLE messages)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "the control does not compile:\n${messages}")
endif()

execute_process(COMMAND ${compile} ${source} RESULT_VARIABLE code ERROR_VARIABLE messages)
string(REGEX MATCHALL "nonsense_units.cpp:[0-9]+:[0-9]+: error" refused "${messages}")
list(TRANSFORM refused REPLACE "nonsense_units.cpp:([0-9]+):.*" "\\1")
list(REMOVE_DUPLICATES refused)

list(LENGTH refused refused_count)
file(READ ${source} text)
string(REGEX MATCHALL "// nonsense" marks "${text}")
list(LENGTH marks marked_count)
if(marked_count EQUAL 0 OR NOT refused_count EQUAL marked_count)
  message(FATAL_ERROR "${marked_count} lines are marked as nonsense, the compiler refused lines ${refused}:\n${messages}")
endif()
message(STATUS "${marked_count} nonsense expressions do not compile, the control does")
