// The examples of a document, and whether what they print is what the document says.
//
//     ```console
//     $ orrery model models/zoo/gpt2-124m.json     a command line: "$ " and what /bin/sh shall do
//     GPT-2 124M                                   what it prints, both outputs in their order, compared
//     exactly ...
//     ...                                          ... a line "..." stands for any lines, also none
//       parameters  124,...                        ... and "..." within a line for any text
//     ```
//
//     ```json file=my-run.json                     a file that the reader is to write
//     ```
//
// The examples of one document run in one directory, in their order; it holds links to scenarios/, models/
// and hardware/.
// `./run.sh` stands for the program, and without arguments for what run.sh then does. A command must end with
// exit code 0. Lines that begin with `$ git`, `$ cd` or `$ ./test.sh` are for readers and are not run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace orrery::cli {

struct DocExample {
  std::size_t line = 0;  // of "$ ...", from 1
  std::string command;   // empty: a file to write
  std::string file, content;
  std::vector<std::string> expected;
};
std::vector<DocExample> examples_of(const std::string& document);

bool is_run(const DocExample& example);
std::string shell_command(const DocExample& example);  // with ./run.sh replaced

bool matches(const std::vector<std::string>& expected, const std::vector<std::string>& actual);

// `expected` with its lines replaced by those that were printed, as far as "..." lines tell which stand for
// which: the lines before the first and those behind the last. Empty where that is not enough.
std::vector<std::string> updated(const std::vector<std::string>& expected,
                                 const std::vector<std::string>& actual);

std::vector<std::string> lines_of(const std::string& text);

}  // namespace orrery::cli
