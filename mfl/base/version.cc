#include "mfl/base/version.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstddef>
#include <span>

namespace mfl {
namespace {

std::size_t padded(std::size_t size) { return (size + 3) / 4 * 4; }

std::string id_in(const std::byte* notes, std::size_t size) {
  const std::string_view owner("GNU", 4);
  while (size >= sizeof(ElfW(Nhdr))) {
    const auto& note = *reinterpret_cast<const ElfW(Nhdr)*>(notes);
    const std::size_t name = padded(note.n_namesz), whole = sizeof note + name + padded(note.n_descsz);
    if (whole > size) break;
    const std::byte* text = notes + sizeof note;
    if (note.n_type == NT_GNU_BUILD_ID &&
        std::string_view(reinterpret_cast<const char*>(text), note.n_namesz) == owner) {
      std::string out;
      for (const std::byte b : std::span(text + name, note.n_descsz))
        out += fmt::format("{:02x}", std::to_integer<unsigned>(b));
      return out;
    }
    notes += whole;
    size -= whole;
  }
  return {};
}

// Called for the program first, and for no library.
int take_id(dl_phdr_info* program, std::size_t /*size*/, void* out) {
  for (const ElfW(Phdr) & part : std::span(program->dlpi_phdr, program->dlpi_phnum)) {
    auto& id = *static_cast<std::string*>(out);
    if (part.p_type == PT_NOTE && id.empty())
      id = id_in(reinterpret_cast<const std::byte*>(program->dlpi_addr + part.p_vaddr), part.p_memsz);
  }
  return 1;
}

}  // namespace

std::string_view version() { return MFL_VERSION; }

std::string build_id() {
  std::string id;
  ::dl_iterate_phdr(take_id, &id);
  return id;
}

}  // namespace mfl
