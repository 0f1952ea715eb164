package localapi

import (
	"net/http"
)

// ServeAs answers a request as if a person had sent it over the socket.
func (s *Server) ServeAs(uid uint32, technician bool, w http.ResponseWriter, r *http.Request) {
	who := peer{uid: uid, name: "somebody", technician: technician}
	s.handler.ServeHTTP(w, r.WithContext(withPeer(r.Context(), who, nil)))
}
