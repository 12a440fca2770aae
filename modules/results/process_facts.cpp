#include "results/process_facts.h"

#include <elf.h>
#include <link.h>
#include <sys/personality.h>
#include <sys/resource.h>

#include <string_view>

#include "base/folder.h"
#include "base/sha256.h"

namespace rnnlab {
namespace {

bool has_random_addresses() {
  constexpr unsigned long kAsk = 0xffffffff;
  const int persona = ::personality(kAsk);
  const bool is_switched_off = persona != -1 && (persona & ADDR_NO_RANDOMIZE) != 0;
  return !is_switched_off && !system_text("/proc/sys/kernel/randomize_va_space").starts_with('0');
}

// Notes are padded to whole words (System V ABI, "Note Section").
size_t padded(size_t size) {
  constexpr size_t kWord = 4;
  return (size + kWord - 1) / kWord * kWord;
}

// The linker writes a note with a hash of what it links.
void add_build_id(std::string_view notes, std::string& ids) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    const auto& header = *reinterpret_cast<const ElfW(Nhdr)*>(notes.data());
    const size_t begin = sizeof(header) + padded(header.n_namesz), end = begin + padded(header.n_descsz);
    if (end > notes.size()) return;
    if (header.n_type == NT_GNU_BUILD_ID) ids += notes.substr(begin, header.n_descsz);
    notes.remove_prefix(end);
  }
}

// The program has no name here, and its libraries have theirs. The library for CUDA is loaded where there is a GPU.
bool is_own(std::string_view name) {
  return name.empty() || (name.find("librnnlab_") != name.npos && name.find("librnnlab_cuda") == name.npos);
}

int add_own_object(dl_phdr_info* object, size_t, void* ids) {
  if (!is_own(object->dlpi_name)) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(object->dlpi_addr + header.p_vaddr);
    add_build_id({notes, header.p_memsz}, *static_cast<std::string*>(ids));
  }
  return 0;
}

std::string program_id() {
  constexpr size_t kDigits = 16;
  std::string ids;
  ::dl_iterate_phdr(add_own_object, &ids);
  return ids.empty() ? "" : Sha256().update(ids).hex().substr(0, kDigits);
}

}  // namespace

bool is_traced_by(const std::string& status) {
  constexpr std::string_view kKey = "TracerPid:";
  const size_t at = status.find(kKey);
  if (at == std::string::npos) return false;
  const size_t digit = status.find_first_not_of(" \t", at + kKey.size());
  return digit != std::string::npos && status[digit] >= '1' && status[digit] <= '9';
}

ProcessFacts process_facts() {
  return {.nice = ::getpriority(PRIO_PROCESS, 0),
          .is_traced = is_traced_by(system_text("/proc/self/status")),
          .has_random_addresses = has_random_addresses(),
          .program_id = program_id()};
}

std::vector<Warning> warnings(const ProcessFacts& facts) {
  std::vector<Warning> found;
  if (facts.is_traced)
    found.emplace_back(warning::kDebugged,
                       "a debugger or a tracer follows this process: each system call waits for it");
  if (!facts.has_random_addresses)
    found.emplace_back(warning::kFixedAddresses,
                       "addresses are not random: memory lies alike in each process, so repeats differ less than "
                       "processes do elsewhere");
  return found;
}

}  // namespace rnnlab
