// An application that meters the requests it serves and shows its own usage at /usage.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	// Requests beyond a hard limit are served too: their usage is rejected and logged.
	meter := NewMeter(os.Getenv("GATEHOUSE_URL"), os.Getenv("GATEHOUSE_KEY"))

	http.HandleFunc("/usage", func(w http.ResponseWriter, r *http.Request) {
		sums, err := meter.Sums()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		json.NewEncoder(w).Encode(sums)
	})
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		meter.Record("tiles", "requests", 1, NewID(), time.Now())
		fmt.Fprintln(w, "Here is your tile.")
	})

	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	server := &http.Server{Addr: "127.0.0.1:" + os.Getenv("PORT")}
	go func() {
		<-ended.Done()
		server.Shutdown(context.Background())
	}()
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		log.Fatal(err)
	}
	<-ended.Done()
	meter.Close(10 * time.Second)
}
