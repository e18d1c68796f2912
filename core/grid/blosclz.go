package grid

import "errors"

var errBloscLZ = errors.New("the stream is damaged")

// blosclzFar is how far back a match of two bytes reaches; what is farther has two more.
const blosclzFar = 8191

// unblosclz is Blosc's own format: a byte below 32 is followed by so many bytes and one more, another says how much of what came before comes again. The first
// byte is always one of the former.
func unblosclz(dst, src []byte) (n int, err error) {
	for first := true; len(src) > 0; first = false {
		control := int(src[0])
		if first {
			control &= 31
		}
		src = src[1:]
		if control < 32 {
			if control++; control > len(src) || control > len(dst)-n {
				return n, errBloscLZ
			}
			n += copy(dst[n:], src[:control])
			src = src[control:]
			continue
		}
		length, back := control>>5-1, control&31<<8
		if length == 6 {
			for more := byte(255); more == 255; {
				if len(src) == 0 {
					return n, errBloscLZ
				}
				more = src[0]
				length += int(more)
				src = src[1:]
			}
		}
		if len(src) == 0 {
			return n, errBloscLZ
		}
		low := int(src[0])
		src = src[1:]
		if back += low; low == 255 && control&31 == 31 {
			if len(src) < 2 {
				return n, errBloscLZ
			}
			back = blosclzFar + int(src[0])<<8 + int(src[1])
			src = src[2:]
		}
		from := n - back - 1
		if length += 3; from < 0 || length > len(dst)-n {
			return n, errBloscLZ
		}
		for range length {
			dst[n] = dst[from]
			n, from = n+1, from+1
		}
	}
	return n, nil
}
