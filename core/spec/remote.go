package spec

import (
	"math"
	"net/url"
	"strings"
	"time"
)

func (s *section) remote(r *Remote) {
	if s.text("endpoint", &r.Endpoint); s.has("endpoint") {
		u, err := url.Parse(r.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
			s.fail("endpoint", "want a URL such as https://storage.example.com, without user, path and query")
		}
	}
	s.text("region", &r.Region)
	s.text("profile", &r.Profile)
	s.flag("anonymous", &r.Anonymous)
	choice(s, "addressing", &r.Addressing, Auto, ByPath, ByHost)
	s.duration("timeout", "a duration such as 500ms, 30s or 5m, above 0", &r.Timeout, 1, math.MaxInt64)
	whole(s, "retries", &r.Retries, 0, 100)
	if s.has("hedge_after") {
		s.either("hedge_after", "a duration such as 200ms, auto or never", &r.HedgeAfter)
	}
}

// either reads a duration, auto (0) or never (negative).
func (s *section) either(key, want string, dst *time.Duration) {
	switch v, _ := s.scalar(key, want, "!!str", "!!int"); v {
	case Auto:
		*dst = 0
	case "never":
		*dst = -1
	default:
		s.duration(key, want, dst, 1, math.MaxInt64)
	}
}
