// MPI_CHECK(call): a call of MPI whose failure is a WorldError with the call and MPI's reason. Communicators return
// errors (mpi_world.cpp), they do not abort.
#pragma once

#include <mpi.h>

namespace orrery::runtime {

[[noreturn]] void mpi_failed(const char* call, int code);

}  // namespace orrery::runtime

#define MPI_CHECK(call)                                                    \
  do {                                                                     \
    if (const int mpi_code = (call); mpi_code != MPI_SUCCESS) [[unlikely]] \
      ::orrery::runtime::mpi_failed(#call, mpi_code);                      \
  } while (false)
