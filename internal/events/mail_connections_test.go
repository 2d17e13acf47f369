package events

import (
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/formulary/formulary/internal/events/mailtest"
	"github.com/formulary/formulary/internal/testkit"
)

// Mails that follow each other share a connection, if it still works.
func TestMailConnections(t *testing.T) {
	var connections atomic.Int64
	commands := make(chan string, 100)
	m := newMailer(t, mailOptions("smtp://"+listen(t, func(conn net.Conn) {
		turn := connections.Add(1)
		answer(conn, "220 hello", "250 hello", "250 ok", "250 ok", "354 go on", "250 taken")
		client := textproto.NewConn(conn)
		for mails := 1; ; {
			line, err := client.ReadLine()
			if err != nil {
				return
			}
			command, _, _ := strings.Cut(line, " ")
			commands <- command
			switch {
			case command == "NOOP" && turn == 1 && mails == 3:
				return // as a server does that takes only so many
			case command == "DATA":
				_ = client.PrintfLine("354 go on")
				_, _ = client.ReadDotBytes()
				mails++
			}
			_ = client.PrintfLine("250 ok")
		}
	})), nil)
	for i, want := range []int64{1, 1, 1, 2, 2} {
		if err := m.Send(t.Context(), leave(1)); err != nil || connections.Load() != want {
			t.Fatalf("mail %d: %v, %d connections", i, err, connections.Load())
		}
	}
	testkit.EventuallyWithin(t, 10*maxIdle, "an idle connection is closed", func() bool {
		select {
		case command := <-commands:
			return command == "QUIT"
		default:
			return false
		}
	})
	if err := m.Send(t.Context(), leave(1)); err != nil || connections.Load() != 3 {
		t.Errorf("after that: %v, %d connections", err, connections.Load())
	}
}

// After many mails a connection is given up: servers count them.
func TestMailsOfAConnection(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	m := newMailer(t, mailOptions("smtp://"+server.Addr), nil)
	for i := range maxMails {
		if err := m.Send(t.Context(), leave(i)); err != nil || (len(m.idle) == 0) != (i == maxMails-1) {
			t.Fatalf("mail %d: %v, %d idle connections", i, err, len(m.idle))
		}
	}
}

// A test says that mails arrive, to addresses that get mail.
func TestTestMail(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	m := newMailer(t, mailOptions("smtp://"+server.Addr), nil)
	if err := m.Send(t.Context(), Mail{To: "hr@elsewhere.example"}); fmt.Sprint(err) != "the recipient is not in --mail-domains" {
		t.Error(err)
	}
	testkit.Must(t, m.Send(t.Context(), Mail{To: "hr@example.org"}))
	header, text := parseMail(t, server.Mails()[0])
	if header.Get("Subject") != "Test mail" || text != "This is a test: mails from https://forms.example.org/ arrive.\n" {
		t.Errorf("%v\n%s", header, text)
	}
}
