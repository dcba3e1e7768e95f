#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

// Members of a zip archive in memory, in their order: the container of .keras files.
class ZipArchive {
 public:
  // Reads an archive's bytes; `name` is what errors call it. Refuses damaged members, ones that claim to be far larger
  // than their bytes can mean, names that occur twice or lead out of the archive.
  static ZipArchive parse(const std::string& bytes, const std::string& name);

  bool has(std::string_view member) const;
  // Throws DataLoss when there is no such member.
  const std::string& at(std::string_view member) const;
  const std::vector<std::pair<std::string, std::string>>& members() const { return members_; }

 private:
  std::string name_ = "archive";
  std::vector<std::pair<std::string, std::string>> members_;
};

}  // namespace cohort
