#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "mfl/engine/mpi/mpi.h"

namespace mfl {

std::optional<unsigned> launched_rank() {
  // Open MPI's mpirun; any launcher that speaks PMIx (srun --mpi=pmix); PMI-1 and PMI-2 (srun --mpi=pmi2, MPICH).
  constexpr std::array kVariables = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
  for (const char* const variable : kVariables) {
    const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
    if (text == nullptr) continue;
    const std::string_view digits(text);
    unsigned rank = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (error == std::errc() && end == digits.data() + digits.size()) return rank;
  }
  return std::nullopt;
}

}  // namespace mfl
