// Tables of the documents that the program writes: the text between `<!-- generated: NAME -->` and `<!-- end
// -->`.
#pragma once

#include <string>
#include <vector>

namespace orrery::cases {

using Table = std::vector<std::vector<std::string>>;  // the first row is the head

std::string markdown(const Table& table);  // the first column left, the others right

// The block must be what the document has; ORRERY_UPDATE_GOLDEN=1 writes it there instead.
void expect_block(const std::string& document, const std::string& name, const std::string& text);

std::string signed_percent(double share);  // "-1.5 %"

}  // namespace orrery::cases
