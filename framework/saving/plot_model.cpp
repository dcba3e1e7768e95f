#include "cohort/saving/plot_model.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "cohort/core/error.h"
#include "cohort/files/atomic_file.h"
#include "cohort/saving/model_to_dot.h"

namespace cohort {
namespace {

constexpr const char* kPlotModel = "plot_model";

// A folder of one's own that is gone with everything in it at the end of the scope.
class PlotFolder {
 public:
  PlotFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cohort-plot-XXXXXX").string();
    if (!mkdtemp(pattern.data())) {
      throw Error(ErrorCode::ResourceExhausted, kPlotModel, "a temporary folder must be made",
                  {{"folder", pattern}, {"error", std::strerror(errno)}});
    }
    path_ = pattern;
  }
  ~PlotFolder() {
    std::error_code problem;
    std::filesystem::remove_all(path_, problem);
  }
  PlotFolder(const PlotFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Starts `dot` with its complaints going to a file; throws when there is none.
pid_t start_dot(const std::string& format, const std::string& source, const std::string& picture,
                const std::string& complaints) {
  std::string program = "dot", kind = "-T" + format, out = "-o" + picture, in = source;
  char* arguments[] = {program.data(), kind.data(), out.data(), in.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, complaints.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = -1;
  const int problem = posix_spawnp(&child, "dot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) {
    throw not_found(kPlotModel, "the program dot must be installed to draw a picture",
                    {{"format", format}, {"problem", std::strerror(problem)}},
                    "Install the package graphviz, or let to_file end in .dot.");
  }
  return child;
}

// The exit status; kills it when it takes longer than any picture should.
int wait_for_dot(pid_t child) {
  using namespace std::chrono_literals;
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return 0;  // somebody else collected it: the picture says whether it did well
    if (std::chrono::steady_clock::now() > deadline) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      throw Error(ErrorCode::DeadlineExceeded, kPlotModel, "dot must draw the picture within a minute");
    }
    std::this_thread::sleep_for(2ms);
  }
}

std::string picture_of(const std::string& dot, const std::string& format) {
  const PlotFolder folder;
  const std::string source = folder.file("model.dot"), picture = folder.file("picture"),
                    complaints = folder.file("complaints");
  write_file_atomically(source, dot);
  const int status = wait_for_dot(start_dot(format, source, picture, complaints));
  if (status != 0 || !std::filesystem::exists(picture)) {
    throw internal_error(kPlotModel, "dot must draw the picture",
                         {{"status", status}, {"said", read_file(complaints)}});
  }
  return read_file(picture);
}

}  // namespace

void plot_model(const Model& model, PlotModelOptions options) {
  std::string format = std::filesystem::path(options.to_file).extension().string();
  format = format.empty() ? "png" : format.substr(1);
  constexpr const char* kFormats[] = {"dot", "gv", "svg", "png", "pdf", "jpg"};
  if (std::find(std::begin(kFormats), std::end(kFormats), format) == std::end(kFormats)) {
    throw invalid_argument(kPlotModel, "to_file must end in .dot, .gv, .svg, .png, .pdf or .jpg",
                           {{"to_file", options.to_file}});
  }
  const std::string dot = model_to_dot(model, {.show_shapes = options.show_shapes,
                                               .show_dtype = options.show_dtype,
                                               .show_layer_names = options.show_layer_names,
                                               .rankdir = options.rankdir,
                                               .expand_nested = options.expand_nested,
                                               .dpi = options.dpi,
                                               .show_layer_activations = options.show_layer_activations,
                                               .show_trainable = options.show_trainable,
                                               .splines = options.splines});
  write_file_atomically(options.to_file, format == "dot" || format == "gv" ? dot : picture_of(dot, format));
}

}  // namespace cohort
