#include "mfl/network/transport/http2.h"

#include <algorithm>
#include <span>

namespace mfl {
namespace {

constexpr std::size_t kFrameHead = 9;

nghttp2_nv as_nv(const std::pair<std::string, std::string>& field) {
  const auto bytes = [](const std::string& text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(field.first), bytes(field.second), field.first.size(), field.second.size(),
          NGHTTP2_NV_FLAG_NONE};
}

std::vector<nghttp2_nv> as_nvs(const HeaderFields& fields) {
  std::vector<nghttp2_nv> out;
  for (const auto& field : fields) out.push_back(as_nv(field));
  return out;
}

std::string_view view(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

std::string_view field(const HeaderFields& fields, std::string_view name) {
  const auto found =
      std::ranges::find(fields, name, [](const auto& field) { return std::string_view(field.first); });
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

// nghttp2 calls these with the session as user data.
struct Http2Session::Callbacks {
  static Http2Session& of(void* user) { return *static_cast<Http2Session*>(user); }

  static int allow(Http2Session& session, std::uint8_t type, std::size_t bytes) {
    if (session.events_.frame(type, bytes)) return 0;
    session.failure_ = "too many frames without content";
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  static int begin_frame(nghttp2_session*, const nghttp2_frame_hd* head, void* user) {
    return allow(of(user), head->type, head->length);
  }

  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Stream& stream = of(user).streams_[frame->hd.stream_id];
    stream.fields.clear();
    stream.header_bytes = 0;
    return 0;
  }

  static int header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                    void* user) {
    constexpr std::size_t kFieldCost = 32;  // as HTTP/2 counts
    Http2Session& session = of(user);
    Stream* stream = session.find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    stream->header_bytes += name_size + value_size + kFieldCost;
    if (stream->header_bytes > session.limits_.header_bytes) {
      session.failure_ = "too many header bytes";
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    stream->fields.emplace_back(view(name, name_size), view(value, value_size));
    return 0;
  }

  static int frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Http2Session& session = of(user);
    const StreamId id = frame->hd.stream_id;
    const bool ended = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_HEADERS) {
      if (Stream* stream = session.find(id))
        session.events_.headers(id, std::exchange(stream->fields, {}), ended);
    } else if (frame->hd.type == NGHTTP2_DATA) {
      if (ended && session.find(id) != nullptr) session.events_.ended(id);
    } else if (frame->hd.type == NGHTTP2_GOAWAY) {
      session.peer_left_ = true;
      session.events_.goaway(frame->goaway.error_code,
                             view(frame->goaway.opaque_data, frame->goaway.opaque_data_len));
    }
    return 0;
  }

  static int data(nghttp2_session*, std::uint8_t, StreamId id, const std::uint8_t* bytes, std::size_t size,
                  void* user) {
    Http2Session& session = of(user);
    if (session.find(id) != nullptr)
      session.events_.data(id, view(bytes, size));
    else
      session.consume_connection(size);
    return 0;
  }

  static int closed(nghttp2_session*, StreamId id, std::uint32_t error, void* user) {
    Http2Session& session = of(user);
    if (session.streams_.erase(id) != 0) session.events_.closed(id, error);
    return 0;
  }

  // nghttp2 itself answers with a reset or ends the session.
  static int invalid_frame(nghttp2_session*, const nghttp2_frame*, int, void* user) {
    return allow(of(user), kInvalidFrame, 0);
  }

  static ssize_t send(nghttp2_session*, const std::uint8_t* bytes, std::size_t size, int, void* user) {
    Http2Session& session = of(user);
    if (session.out_->size() >= session.limits_.output_bytes) return NGHTTP2_ERR_WOULDBLOCK;
    session.out_->append(view(bytes, size));
    return static_cast<ssize_t>(size);
  }

  static int send_data(nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* head, std::size_t size,
                       nghttp2_data_source*, void* user) {
    Http2Session& session = of(user);
    if (session.out_->size() >= session.limits_.output_bytes) return NGHTTP2_ERR_WOULDBLOCK;
    session.out_->append(view(head, kFrameHead));
    if (Stream* stream = session.find(frame->hd.stream_id)) session.pack(*stream, size);
    return 0;
  }

  static ssize_t most_data(nghttp2_session*, std::uint8_t, StreamId, std::int32_t connection_window,
                           std::int32_t stream_window, std::uint32_t frame_bytes, void*) {
    return std::min<ssize_t>({connection_window, stream_window, static_cast<ssize_t>(frame_bytes)});
  }

  // How much of the queue goes into the next frame; send_data() then copies it.
  static ssize_t read(nghttp2_session* nghttp2, StreamId id, std::uint8_t*, std::size_t most,
                      std::uint32_t* flags, nghttp2_data_source*, void* user) {
    Http2Session& session = of(user);
    Stream* stream = session.find(id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const std::size_t size = std::min(most, stream->queued);
    stream->reserved = size;
    if (size == 0 && !stream->ending) return NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (stream->ending && size == stream->queued) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (!stream->trailers.empty() && !std::exchange(stream->trailers_sent, true)) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        const auto fields = as_nvs(stream->trailers);
        nghttp2_submit_trailer(nghttp2, id, fields.data(), fields.size());
      }
    }
    return static_cast<ssize_t>(size);
  }

  static nghttp2_session_callbacks* make() {
    nghttp2_session_callbacks* all = nullptr;
    nghttp2_session_callbacks_new(&all);
    nghttp2_session_callbacks_set_on_begin_frame_callback(all, begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(all, begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(all, header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(all, frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(all, data);
    nghttp2_session_callbacks_set_on_stream_close_callback(all, closed);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(all, invalid_frame);
    nghttp2_session_callbacks_set_send_callback(all, send);
    nghttp2_session_callbacks_set_send_data_callback(all, send_data);
    nghttp2_session_callbacks_set_data_source_read_length_callback(all, most_data);
    return all;
  }
};

Http2Session::Http2Session(Role role, const Http2Limits& limits, Http2Events& events)
    : role_(role), limits_(limits), events_(events) {
  nghttp2_option* options = nullptr;
  nghttp2_option_new(&options);
  nghttp2_option_set_no_auto_window_update(options, 1);
  nghttp2_option_set_no_closed_streams(options, 1);
  nghttp2_option_set_max_continuations(options, limits.continuations);
  nghttp2_option_set_stream_reset_rate_limit(options, limits.reset_burst, limits.reset_rate);
  constexpr std::size_t kMostAcks = 64;  // of pings and settings that wait to be sent
  nghttp2_option_set_max_outbound_ack(options, kMostAcks);
  nghttp2_session_callbacks* callbacks = Callbacks::make();
  if (role == Role::kServer)
    nghttp2_session_server_new2(&session_, callbacks, this, options);
  else
    nghttp2_session_client_new2(&session_, callbacks, this, options);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_option_del(options);
  const std::vector<nghttp2_settings_entry> settings = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, role == Role::kServer ? limits.streams : 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(limits.stream_window)},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, limits.frame_bytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits.header_bytes)},
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
  // A server must not send the last one.
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(),
                          settings.size() - (role == Role::kServer ? 1 : 0));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, limits.connection_window);
}

Http2Session::~Http2Session() { nghttp2_session_del(session_); }

bool Http2Session::receive(std::string_view bytes) {
  if (!failure_.empty()) return false;
  const ssize_t taken =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (taken < 0 && failure_.empty()) failure_ = nghttp2_strerror(static_cast<int>(taken));
  if (taken >= 0 && nghttp2_session_want_read(session_) == 0 && !peer_left_ && failure_.empty())
    failure_ = "the peer broke the HTTP/2 protocol";
  return failure_.empty();
}

void Http2Session::output(std::string& out) {
  out_ = &out;
  const int error = nghttp2_session_send(session_);
  out_ = nullptr;
  if (error != 0 && failure_.empty()) failure_ = nghttp2_strerror(error);
}

Http2Session::Stream* Http2Session::find(StreamId stream) {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : &found->second;
}

void Http2Session::pack(Stream& stream, std::size_t bytes) {
  stream.queued -= bytes;
  stream.reserved = 0;
  while (bytes > 0) {
    const std::string& message = *stream.queue.front();
    if (stream.offset < kPrefixBytes) {
      const auto prefix = message_prefix(message.size());
      const std::size_t part = std::min(bytes, kPrefixBytes - stream.offset);
      out_->append(prefix.data() + stream.offset, part);
      stream.offset += part;
      bytes -= part;
    }
    const std::size_t from = stream.offset - std::min(stream.offset, kPrefixBytes);
    const std::size_t part = stream.offset < kPrefixBytes ? 0 : std::min(bytes, message.size() - from);
    out_->append(message, from, part);
    stream.offset += part;
    bytes -= part;
    if (stream.offset == kPrefixBytes + message.size()) {
      stream.queue.pop_front();
      stream.offset = 0;
    }
  }
}

void Http2Session::resume(StreamId stream) { nghttp2_session_resume_data(session_, stream); }

StreamId Http2Session::request(const HeaderFields& fields) {
  const auto nvs = as_nvs(fields);
  const nghttp2_data_provider body{{}, Callbacks::read};
  const StreamId stream = nghttp2_submit_request(session_, nullptr, nvs.data(), nvs.size(), &body, nullptr);
  if (stream <= 0) return -1;
  streams_[stream];
  return stream;
}

void Http2Session::respond(StreamId id, const HeaderFields& fields) {
  Stream* stream = find(id);
  if (stream == nullptr || std::exchange(stream->responded, true)) return;
  const auto nvs = as_nvs(fields);
  const nghttp2_data_provider body{{}, Callbacks::read};
  nghttp2_submit_response(session_, id, nvs.data(), nvs.size(), &body);
}

void Http2Session::send(StreamId id, MessageBytes message) {
  Stream* stream = find(id);
  if (stream == nullptr || stream->ending) return;
  stream->queued += kPrefixBytes + message->size();
  stream->queue.push_back(std::move(message));
  resume(id);
}

std::size_t Http2Session::queued(StreamId id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? 0 : found->second.queued;
}

void Http2Session::end(StreamId id, const HeaderFields& trailers) {
  Stream* stream = find(id);
  if (stream == nullptr || std::exchange(stream->ending, true)) return;
  if (role_ == Role::kServer && !stream->responded) {
    stream->responded = true;
    const auto nvs = as_nvs(trailers);
    nghttp2_submit_response(session_, id, nvs.data(), nvs.size(), nullptr);
    return;
  }
  stream->trailers = trailers;
  resume(id);
}

void Http2Session::drop_queued(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  std::size_t kept = 0, bytes = 0;
  for (const MessageBytes& message : stream->queue) {
    const bool begun = kept == 0 && stream->offset > 0;
    if (!begun && bytes >= stream->reserved) break;
    bytes += kPrefixBytes + message->size() - (begun ? stream->offset : 0);
    ++kept;
  }
  stream->queue.resize(kept);
  stream->queued = bytes;
}

void Http2Session::reset(StreamId stream, std::uint32_t error) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, error);
}

void Http2Session::consume(StreamId stream, std::size_t bytes) {
  nghttp2_session_consume(session_, stream, bytes);
}

void Http2Session::consume_connection(std::size_t bytes) {
  nghttp2_session_consume_connection(session_, bytes);
}

void Http2Session::consume_stream(StreamId stream, std::size_t bytes) {
  nghttp2_session_consume_stream(session_, stream, bytes);
}

void Http2Session::ping() { nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr); }

void Http2Session::goaway(std::uint32_t error, std::string_view text) {
  constexpr std::size_t kMostText = 256;
  text = text.substr(0, kMostText);
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_), error,
                        reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace mfl
