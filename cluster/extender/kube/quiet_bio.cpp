#include "cluster/extender/kube/quiet_bio.h"

#include <sys/socket.h>

#include <cerrno>

namespace pinion::kube {
namespace {

int socket_of(BIO* bio) {
  int socket = -1;
  BIO_get_fd(bio, &socket);
  return socket;
}

bool comes_later() {
  return errno == EAGAIN || errno == EINTR;
}

int write_quietly(BIO* bio, const char* from, int size) {
  const auto n = send(socket_of(bio), from, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  BIO_clear_retry_flags(bio);
  if (n < 0 && comes_later()) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

BIO_METHOD* make_method() {
  const BIO_METHOD* ordinary = BIO_s_socket();
  BIO_METHOD* method = BIO_meth_new(BIO_TYPE_SOCKET, "socket without SIGPIPE");
  if (method == nullptr) return nullptr;
  BIO_meth_set_write(method, &write_quietly);
  BIO_meth_set_read(method, BIO_meth_get_read(ordinary));
  BIO_meth_set_ctrl(method, BIO_meth_get_ctrl(ordinary));
  BIO_meth_set_create(method, BIO_meth_get_create(ordinary));
  BIO_meth_set_destroy(method, BIO_meth_get_destroy(ordinary));
  return method;
}

}  // namespace

BIO* quiet_socket_bio(int socket) {
  static BIO_METHOD* const method = make_method();  // for the life of the process
  BIO* bio = method == nullptr ? nullptr : BIO_new(method);
  if (bio != nullptr) BIO_set_fd(bio, socket, BIO_NOCLOSE);
  return bio;
}

}  // namespace pinion::kube
