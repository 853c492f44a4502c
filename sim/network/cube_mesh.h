// The wiring of the DGX-1 (V100) hybrid cube mesh: how many NVLinks join two of its eight GPUs. Each GPU has six.
// Source: NVIDIA DGX-1 with Tesla V100 system architecture, figure 4; the same as `nvidia-smi topo -m` prints.
#pragma once

#include <array>

namespace orrery::sim {

constexpr int cube_mesh_links(int a, int b) {
  constexpr std::array<std::array<int, 8>, 8> kLinks = {{
      {0, 1, 1, 2, 2, 0, 0, 0},
      {1, 0, 2, 1, 0, 2, 0, 0},
      {1, 2, 0, 2, 0, 0, 1, 0},
      {2, 1, 2, 0, 0, 0, 0, 1},
      {2, 0, 0, 0, 0, 1, 1, 2},
      {0, 2, 0, 0, 1, 0, 2, 1},
      {0, 0, 1, 0, 1, 2, 0, 2},
      {0, 0, 0, 1, 2, 1, 2, 0},
  }};
  return kLinks[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
}

}  // namespace orrery::sim
