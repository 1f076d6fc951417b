#include "mfl/base/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "mfl/base/digest.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

TEST(Files, WriteThenReadGivesTheSameBytes) {
  const auto folder = TempFolder::make();
  const fs::path file = folder->path() / "a";
  const std::string bytes("zero\0byte\n", 10);
  ASSERT_TRUE(write_file(file, bytes));
  EXPECT_EQ(*read_file(file), bytes);
  ASSERT_TRUE(write_file(file, "shorter"));
  EXPECT_EQ(*read_file(file), "shorter");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder->path()), {}), 1);  // no temporary file is left
}

TEST(Files, ErrorsNameThePathAndTheReason) {
  const auto folder = TempFolder::make();
  const fs::path nowhere = folder->path() / "no" / "file";
  EXPECT_EQ(read_file(nowhere).error().code, ErrorCode::kBadData);
  EXPECT_NE(read_file(nowhere).error().message.find(nowhere.string() + ": No such file"), std::string::npos);
  EXPECT_EQ(write_file(nowhere, "x").error().code, ErrorCode::kRunFailed);
  EXPECT_FALSE(fs::exists(nowhere.parent_path()));
}

std::string error_text(const Error& error) { return error.message + "; " + error.hint; }

void make_fifo(const fs::path& path) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); }

int make_socket(const fs::path& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return socket;
}

TEST(Files, OnlyRegularFilesAreRead) {
  const auto folder = TempFolder::make();
  make_fifo(folder->path() / "fifo");
  const int socket = make_socket(folder->path() / "socket");
  const std::pair<fs::path, std::string> others[] = {{folder->path() / "fifo", "it is a FIFO"},
                                                     {folder->path() / "socket", "it is a socket"},
                                                     {folder->path(), "it is a folder"},
                                                     {"/dev/zero", "it is a character device"}};
  for (const auto& [path, why] : others) {
    const auto read = read_file(path);
    ASSERT_FALSE(read) << path;
    EXPECT_EQ(read.error().code, ErrorCode::kBadData);
    EXPECT_EQ(error_text(read.error()),
              "cannot read " + path.string() + ": " + why + "; name a regular file");
    ASSERT_FALSE(FileReader::open(path)) << path;
    std::byte one;
    EXPECT_FALSE(read_part(path, 0, {&one, 1})) << path;
  }
  ::close(socket);
}

TEST(Files, AnOutputGoesThroughSymbolicLinks) {
  const auto folder = TempFolder::make();
  ASSERT_TRUE(make_folder(folder->path() / "there"));
  ASSERT_TRUE(write_file(folder->path() / "there" / "file", "old"));
  fs::create_symlink("there/file", folder->path() / "link");
  fs::create_symlink("link", folder->path() / "link to link");
  ASSERT_TRUE(write_file(folder->path() / "link to link", "new"));
  EXPECT_TRUE(fs::is_symlink(folder->path() / "link to link"));
  EXPECT_TRUE(fs::is_symlink(folder->path() / "link"));
  EXPECT_EQ(*read_file(folder->path() / "there" / "file"), "new");

  fs::create_symlink("there/later", folder->path() / "dangling");
  ASSERT_TRUE(write_file(folder->path() / "dangling", "made"));
  EXPECT_TRUE(fs::is_symlink(folder->path() / "dangling"));
  EXPECT_EQ(*read_file(folder->path() / "there" / "later"), "made");

  fs::create_symlink("round", folder->path() / "round");
  const auto round = write_file(folder->path() / "round", "x");
  ASSERT_FALSE(round);
  EXPECT_NE(round.error().message.find("symbolic links"), std::string::npos);
}

TEST(Files, AReplacedFileKeepsItsPermissions) {
  const auto folder = TempFolder::make();
  const fs::path file = folder->path() / "secret";
  ASSERT_TRUE(write_file(file, "old"));
  fs::permissions(file, fs::perms(0660));
  ASSERT_TRUE(write_file(file, "new"));
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0660));
}

TEST(Files, AFileForItsOwnerAloneIsUnreadableToOthers) {
  const auto folder = TempFolder::make();
  const fs::path file = folder->path() / "kept";
  ASSERT_TRUE(write_file(file, "new", Readers::kOwner));
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0600));
  fs::permissions(file, fs::perms(0644));
  ASSERT_TRUE(write_file(file, "again", Readers::kOwner));
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0600));
}

// Whoever may write the folder could otherwise own the file that is renamed over the target.
TEST(Files, ATemporaryFileIsNobodyElses) {
  const auto folder = TempFolder::make();
  const fs::path file = folder->path() / "target";
  const fs::path waiting = folder->path() / fmt::format("target.tmp-{}", ::getpid());
  ASSERT_TRUE(write_file(waiting, "another's"));
  const auto fresh = make_file_beside(file);
  ASSERT_TRUE(fresh);
  struct stat made {};
  ASSERT_EQ(::fstat(fresh->descriptor, &made), 0);
  EXPECT_EQ(made.st_size, 0);
  EXPECT_NE(fresh->path, make_file_beside(file)->path);
  ASSERT_TRUE(write_file(file, "mine"));
  EXPECT_EQ(*read_file(waiting), "another's");
  EXPECT_EQ(*read_file(file), "mine");
}

TEST(Files, AFifoIsWrittenToAndStays) {
  const auto folder = TempFolder::make();
  const fs::path fifo = folder->path() / "fifo";
  make_fifo(fifo);
  const auto unread = write_file(fifo, "x");
  ASSERT_FALSE(unread) << "nothing reads from it: this must not wait";
  EXPECT_NE(unread.error().message.find("no process reads from it"), std::string::npos);

  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(write_file(fifo, "hello"));
  char bytes[8] = {};
  EXPECT_EQ(::read(reader, bytes, sizeof bytes), 5);
  EXPECT_STREQ(bytes, "hello");
  EXPECT_TRUE(fs::is_fifo(fifo));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder->path()), {}), 1);

  // A reader that goes away in the middle is an error, not the end of the process.
  std::thread gone([reader] {
    char some[1];
    while (::read(reader, some, sizeof some) != 1) std::this_thread::yield();
    ::close(reader);
  });
  const auto cut = write_file(fifo, std::string(std::size_t{1} << 22U, 'x'));
  gone.join();
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.error().message.find("Broken pipe"), std::string::npos) << cut.error().message;
}

TEST(Files, DevicesAreWrittenToAndStay) {
  // Root gets devices of its own: those of the machine would be lost if this failed.
  const auto folder = TempFolder::make();
  const auto device = [&](const char* name, unsigned minor) {
    fs::path own = folder->path() / name;
    return ::mknod(own.c_str(), S_IFCHR | 0666, makedev(1, minor)) == 0 ? own : fs::path("/dev") / name;
  };
  const fs::path null = device("null", 3), full = device("full", 7);
  const int usable = ::open(null.c_str(), O_WRONLY | O_CLOEXEC);
  const bool refused = usable < 0;  // a folder mounted nodev
  if (!refused) ::close(usable);
  EXPECT_EQ(write_file(null, "x").has_value(), !refused);
  const auto no_space = write_file(full, "x");
  ASSERT_FALSE(no_space);
  EXPECT_NE(no_space.error().message.find(refused ? "Permission denied" : "No space left"),
            std::string::npos);
  EXPECT_TRUE(fs::is_character_file(null));
  EXPECT_TRUE(fs::is_character_file(full));
}

TEST(Files, FoldersAndSocketsAreNotOutputs) {
  const auto folder = TempFolder::make();
  const int socket = make_socket(folder->path() / "socket");
  for (const auto& [path, why] :
       {std::pair{folder->path(), "it is a folder"}, {folder->path() / "socket", "it is a socket"}}) {
    for (const auto& result : {write_file(path, "x"), prepare_output(path)}) {
      ASSERT_FALSE(result) << path;
      EXPECT_EQ(result.error().message, "cannot write " + path.string() + ": " + why);
    }
  }
  EXPECT_TRUE(fs::is_socket(folder->path() / "socket"));
  ::close(socket);
}

TEST(Files, PreparingAnOutputMakesItsFolders) {
  const auto folder = TempFolder::make();
  const fs::path file = folder->path() / "a" / "b" / "file";
  ASSERT_TRUE(prepare_output(file));
  EXPECT_FALSE(fs::exists(file));
  ASSERT_TRUE(write_file(file, "x"));
  ASSERT_TRUE(prepare_output(file));
  ASSERT_TRUE(prepare_output("/dev/null"));
  ASSERT_FALSE(prepare_output(file / "below a file"));
}

TEST(Files, TempFolderGoesWithItsContents) {
  fs::path path;
  {
    auto folder = TempFolder::make();
    path = folder->path();
    ASSERT_TRUE(make_folder(path / "a" / "b"));
    ASSERT_TRUE(write_file(path / "a" / "b" / "c", "x"));
    const TempFolder moved = *std::move(folder);
    EXPECT_TRUE(fs::exists(moved.path()));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(Digest, IsSha256) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256{}.update("a").update("bc").finish_hex(), sha256_hex("abc"));
  EXPECT_EQ(Sha256{}.update(std::uint64_t{0x0706050403020100}).finish_hex(),
            sha256_hex(std::string("\0\1\2\3\4\5\6\7", 8)));
}

}  // namespace
}  // namespace mfl
