// What was measured, as it was measured: a text file that is appended to, so that an interrupted calibration
// loses nothing and goes on. The first line names the format and the calibration (its options, scenarios and
// machine); then come blocks of lines, each written with one write() and ended by a line "end". A last block
// without it was torn by a kill, and is cut off. The file is locked: two calibrations do not write one.
//
//     orrery-calibration/1 5a17...
//     kernel gemm_tn.bias.fp32 512,384,128 5.03e7 9.9e5 busy 3 4.3e-4 4.4e-4 ...
//     visit gpt, hidden x 2
//     end
#pragma once

#include <string>
#include <vector>

namespace orrery::runtime {

// What becomes of a finished journal of the same calibration: the next one begins anew, or keeps what is
// there. An unfinished one always goes on.
enum class JournalUse { begin_anew, keep };

class Journal {
 public:
  using Block = std::vector<std::string>;

  // Another calibration that is finished is overwritten. Throws InputError where it is not finished, and
  // where the file is no journal; WorldError where it cannot be written.
  Journal(const std::string& path, const std::string& id, JournalUse use);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::vector<Block>& earlier() const { return earlier_; }  // of earlier calls
  // Lines without their ends.
  void append(const Block& block);
  // Nothing more comes: the next calibration may begin anew.
  void finish();

 private:
  void open();
  std::string read_all() const;
  void take_over(const std::string& text, const std::string& header, JournalUse use);
  void begin(const std::string& header);
  void write(const std::string& text);
  [[noreturn]] void fail(const char* call) const;

  std::string path_;
  int file_ = -1;
  std::vector<Block> earlier_;
};

}  // namespace orrery::runtime
