// The words of other frameworks for what an experiment sets.
#pragma once

#include <string_view>

namespace mfl {

struct ForeignWord {
  std::string_view word;        // "num-rounds", in the spelling of flags
  std::string_view table, key;  // what it is called here; both empty where there is nothing like it
  std::string_view note;        // how it differs; may be empty
};

// `word` as a flag without its dashes or as a key: "lr", "learning_rate". nullptr for a word that is not
// known.
const ForeignWord* find_foreign_word(std::string_view word);

}  // namespace mfl
