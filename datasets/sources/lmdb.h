#pragma once

#include <string>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// The entries of an LMDB environment in the order of their keys, as pairs (key, value) of strings. Any of them is
// reached by its number: where all of them are is found out when the first is read, in about 24 bytes for each. The
// main database is read, not others that it may name; of a key with several values each is an entry. Values over 1 GiB
// are refused. The environment must stay as it is: another transaction's is refused.
//
// Who reads holds a lock as all readers of LMDB do, so that somebody who writes meanwhile leaves alone what is read.
// Where the folder or its lock file cannot be written, and for chains that somebody else has sent, there is none.
//   path: of its folder, or of the file itself. Addresses are refused.
Dataset lmdb(const std::string& path);

}  // namespace cohort::datasets
