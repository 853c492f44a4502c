// What stands for the hardware in a prediction: the cost model of kernels and the network model that the
// scenario's cluster asks for. Measured tables where it has them, else the fitted models; a CPU machine also
// has cores to share.
#pragma once

#include <memory>
#include <vector>

#include "scenarios/scenario.h"
#include "sim/cost/kernel_cost.h"
#include "sim/network/network_model.h"

namespace orrery::sim {

class MeasuredNetwork;
class TableCost;

class MachineModels {
 public:
  // The scenario must outlive this. Throws InputError where a table does not suit the program.
  explicit MachineModels(const scenarios::Scenario& scenario);
  MachineModels(const MachineModels&) = delete;
  MachineModels& operator=(const MachineModels&) = delete;
  ~MachineModels();

  const KernelCost& cost() const { return *cost_; }
  const NetworkModel& network() const { return *network_; }

  // After the models were asked: kernels and transfers that the tables lack, and curves that no line fits.
  std::vector<Diagnostic> advice() const;

 private:
  void make_cost();
  void make_network();

  const scenarios::Scenario& scenario_;
  std::unique_ptr<KernelCost> cost_;
  std::unique_ptr<NetworkModel> network_;
  const TableCost* table_ = nullptr;           // cost_, where it is one
  const MeasuredNetwork* measured_ = nullptr;  // network_, where it is one
};

}  // namespace orrery::sim
