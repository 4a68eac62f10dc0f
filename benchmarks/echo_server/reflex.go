package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"log"
	"net"
)

// The reflex ports answer without looking: each request that ends gets its message back, with headers and trailers
// that are the same bytes for everybody. Request headers are never decoded, since nothing depends on them. So a call
// costs the server next to nothing, and what is measured is the client.

const (
	frameHead                                                                  = 9
	frameData, frameHeaders, frameReset, frameSettings, framePing, frameWindow = 0, 1, 3, 4, 6, 8
	flagEnd, flagAck, flagEndHeaders                                           = 0x1, 0x1, 0x4
	connectionWindow                                                           = 1 << 30
	streamWindow                                                               = 1 << 20
)

var (
	// :status 200 and content-type application/grpc; grpc-status 0. No field enters a table.
	replyHead    = append([]byte{0x88, 0x0f, 0x10, 16}, "application/grpc"...)
	replyTrailer = append(append([]byte{0x00, 11}, "grpc-status"...), 1, '0')
)

func serveReflex(host string, count int) []int {
	numbers := make([]int, 0, count)
	for range count {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			for {
				socket, err := listener.Accept()
				if err != nil {
					log.Fatal(err)
				}
				go newReflex(socket).run()
			}
		}()
		numbers = append(numbers, listener.Addr().(*net.TCPAddr).Port)
	}
	return numbers
}

// reflex is one connection: the bodies of requests that have not ended, and replies that wait for the client's window.
type reflex struct {
	socket  net.Conn
	in      *bufio.Reader
	out     []byte
	bodies  map[uint32][]byte
	waiting []reply
	window  int // what the client lets us send on the connection
	taken   int // what it sent and has not got back
}

type reply struct {
	stream uint32
	body   []byte
}

func newReflex(socket net.Conn) *reflex {
	return &reflex{
		socket: socket, in: bufio.NewReaderSize(socket, 1<<16), bodies: map[uint32][]byte{}, window: 65535,
	}
}

// run serves until the client leaves. Replies are written when nothing more can be read at once.
func (r *reflex) run() {
	defer r.socket.Close()
	if _, err := io.CopyN(io.Discard, r.in, 24); err != nil { // the client's preface
		return
	}
	r.frame(frameSettings, 0, 0, []byte{0, 4, 0, streamWindow >> 16, 0, 0})
	r.credit(connectionWindow - 65535)
	head := make([]byte, frameHead)
	for {
		if r.in.Buffered() < frameHead && !r.flush() {
			return
		}
		if _, err := io.ReadFull(r.in, head); err != nil {
			return
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if r.in.Buffered() < len(payload) && !r.flush() {
			return
		}
		if _, err := io.ReadFull(r.in, payload); err != nil {
			return
		}
		r.take(head[3], head[4], binary.BigEndian.Uint32(head[5:])&0x7fffffff, payload)
	}
}

func (r *reflex) flush() bool {
	_, err := r.socket.Write(r.out)
	r.out = r.out[:0]
	return err == nil
}

func (r *reflex) take(kind, flags byte, stream uint32, payload []byte) {
	switch kind {
	case frameData:
		r.taken += len(payload)
		if r.taken >= connectionWindow/2 {
			r.credit(r.taken)
			r.taken = 0
		}
		body := payload
		if begun, ok := r.bodies[stream]; ok {
			body = append(begun, payload...)
		}
		if flags&flagEnd == 0 {
			r.bodies[stream] = body
			return
		}
		delete(r.bodies, stream)
		r.waiting = append(r.waiting, reply{stream, body})
		r.answer()
	case frameReset:
		delete(r.bodies, stream)
	case frameSettings:
		if flags&flagAck == 0 {
			r.frame(frameSettings, flagAck, 0, nil)
		}
	case framePing:
		if flags&flagAck == 0 {
			r.frame(framePing, flagAck, 0, payload)
		}
	case frameWindow:
		if stream == 0 {
			r.window += int(binary.BigEndian.Uint32(payload) & 0x7fffffff)
			r.answer()
		}
	}
}

// answer sends the replies that the connection's window allows; those of at most one frame, as the comparison's are.
func (r *reflex) answer() {
	for len(r.waiting) > 0 && len(r.waiting[0].body) <= r.window {
		next := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.window -= len(next.body)
		vouch(next.body)
		r.frame(frameHeaders, flagEndHeaders, next.stream, replyHead)
		r.frame(frameData, 0, next.stream, next.body)
		r.frame(frameHeaders, flagEndHeaders|flagEnd, next.stream, replyTrailer)
	}
}

// vouch counts a request as the other ports do: the octets of BytesValue's only field, or a whole message of fortio's.
func vouch(body []byte) {
	asked.calls.Add(1)
	if len(body) > 6 && body[5] == 0x0a {
		size, _ := binary.Uvarint(body[6:])
		asked.octets.Add(int64(size))
	} else if len(body) > 5 {
		asked.octets.Add(int64(len(body) - 5))
	}
}

func (r *reflex) credit(octets int) {
	r.frame(frameWindow, 0, 0, binary.BigEndian.AppendUint32(nil, uint32(octets)))
}

func (r *reflex) frame(kind, flags byte, stream uint32, payload []byte) {
	size := len(payload)
	r.out = append(r.out, byte(size>>16), byte(size>>8), byte(size), kind, flags)
	r.out = binary.BigEndian.AppendUint32(r.out, stream)
	r.out = append(r.out, payload...)
}
