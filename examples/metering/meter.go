// A client that collects usage in memory and sends it to Gatehouse in batches. Record never fails.
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	mathrand "math/rand"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"
)

const (
	batchRecordsMax   = 1_000
	waitingRecordsMax = 100_000
	requestTimeout    = 10 * time.Second
	pauseMax          = time.Minute
	retryAfterMax     = time.Minute
)

var namedRecord = regexp.MustCompile(`"path":"records\[(\d+)\]`)

// Sum is the total of a metric on one day.
type Sum struct {
	Start  string  `json:"start"`
	Metric string  `json:"metric"`
	Sum    float64 `json:"sum"`
	Count  int     `json:"count"`
}

// Meter sends usage to Gatehouse in the background. It is safe for concurrent use.
type Meter struct {
	address string
	apiKey  string
	client  http.Client
	closing chan struct{}

	sending     sync.Mutex // one flush at a time; guards the next two
	failures    int
	pausedUntil time.Time

	lock     sync.Mutex // guards the rest
	waiting  []json.RawMessage
	lost     int
	reported int
	why      string
}

// NewMeter returns a Meter that sends once a second.
func NewMeter(address, apiKey string) *Meter {
	m := &Meter{
		address: address + "/api/v1/usage",
		apiKey:  apiKey,
		client:  http.Client{Timeout: requestTimeout},
		closing: make(chan struct{}),
	}
	go m.run(time.Second)
	return m
}

// NewID returns an idempotency key for usage that has no id of its own.
func NewID() string {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return "" // Gatehouse rejects an empty key, and the record counts as lost.
	}
	return hex.EncodeToString(id)
}

// Record records usage. The same id and time count once, no matter how often they are recorded.
func (m *Meter) Record(productSlug, metric string, quantity float64, id string, at time.Time) {
	record, err := json.Marshal(map[string]any{
		"productSlug":    productSlug,
		"metric":         metric,
		"quantity":       json.Number(strconv.FormatFloat(quantity, 'f', 6, 64)),
		"timestamp":      at.UTC().Format("2006-01-02T15:04:05.000Z"),
		"idempotencyKey": id,
	})
	m.lock.Lock()
	defer m.lock.Unlock()
	switch {
	case err != nil:
		m.lose(1, err.Error())
	case len(m.waiting) >= waitingRecordsMax:
		m.lose(1, "too many unsent records")
	default:
		m.waiting = append(m.waiting, record)
	}
}

// Counts returns numbers for your own metrics: records that wait to be sent, and records lost since the start.
func (m *Meter) Counts() (waiting, lost int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return len(m.waiting), m.lost
}

// Flush sends waiting records, except during the pause after a failure. It returns whether everything has been sent.
func (m *Meter) Flush() bool {
	m.sending.Lock()
	defer m.sending.Unlock()
	m.sendAll()
	m.reportLost()
	waiting, _ := m.Counts()
	return waiting == 0
}

// Close sends what it can before the process ends. The rest is lost and reported. Call it once.
func (m *Meter) Close(timeout time.Duration) {
	close(m.closing)
	end := time.Now().Add(timeout)
	for !m.Flush() && time.Now().Before(end) {
		m.sending.Lock()
		next := m.pausedUntil
		m.sending.Unlock()
		if next.After(end) {
			next = end
		}
		time.Sleep(time.Until(next) + time.Millisecond)
	}
	m.lock.Lock()
	m.lose(len(m.waiting), "the process ended")
	m.waiting = nil
	m.lock.Unlock()
	m.reportLost()
}

// Sums reads this month's sums by day and metric from Gatehouse.
func (m *Meter) Sums() ([]Sum, error) {
	status, body, _, err := m.ask(http.MethodGet, m.address+"?window=day&groupBy=metric", nil)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("gatehouse responded %d: %s", status, body)
	}
	var response struct{ Data []Sum }
	err = json.Unmarshal(body, &response)
	return response.Data, err
}

func (m *Meter) run(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-m.closing:
			return
		case <-ticker.C:
			m.Flush()
		}
	}
}

func (m *Meter) sendAll() {
	size := batchRecordsMax
	for time.Now().After(m.pausedUntil) {
		m.lock.Lock()
		if size > len(m.waiting) {
			size = len(m.waiting)
		}
		batch := m.waiting[:size:size]
		m.lock.Unlock()
		if size == 0 {
			return
		}
		body, _ := json.Marshal(map[string]any{"records": batch})
		status, text, retryAfter, err := m.ask(http.MethodPost, m.address+"/batch", body)
		var kept []json.RawMessage
		switch {
		case err == nil && status >= 200 && status < 300:
			m.failures = 0
			size = batchRecordsMax
		case err != nil || (status != 409 && status != 413 && status != 422):
			m.pause(retryAfter, fmt.Sprint(status, " ", string(text), err))
			return
		default:
			bad := map[int]bool{}
			for _, match := range namedRecord.FindAllSubmatch(text, -1) {
				index, _ := strconv.Atoi(string(match[1]))
				bad[index] = true
			}
			for index, record := range batch {
				if len(batch) > 1 && !bad[index] {
					kept = append(kept, record)
				}
			}
			if len(kept) == len(batch) {
				size = (len(batch) + 1) / 2
			}
		}
		m.lock.Lock()
		if status >= 300 {
			m.lose(len(batch)-len(kept), string(text))
		}
		// Records added in the meantime come after the batch.
		m.waiting = append(kept, m.waiting[len(batch):]...)
		m.lock.Unlock()
	}
}

func (m *Meter) ask(method, address string, data []byte) (int, []byte, time.Duration, error) {
	request, err := http.NewRequest(method, address, bytes.NewReader(data))
	if err != nil {
		return 0, nil, 0, err
	}
	request.Header.Set("Authorization", "Bearer "+m.apiKey)
	if data != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := m.client.Do(request)
	if err != nil {
		return 0, nil, 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return response.StatusCode, body, time.Duration(seconds) * time.Second, err
}

func (m *Meter) pause(retryAfter time.Duration, why string) {
	most := pauseMax
	if m.failures < 8 {
		most = 200 * time.Millisecond << m.failures
	}
	pause := time.Duration(mathrand.Float64() * float64(most))
	if retryAfter > retryAfterMax {
		retryAfter = retryAfterMax
	}
	if pause < retryAfter {
		pause = retryAfter
	}
	m.failures++
	m.pausedUntil = time.Now().Add(pause)
	waiting, _ := m.Counts()
	log.Printf("usage: records waiting: %d; %.1000s", waiting, why)
}

// lose counts lost records. The caller holds the lock.
func (m *Meter) lose(count int, why string) {
	if count > 0 {
		m.lost += count
		m.why = why
	}
}

func (m *Meter) reportLost() {
	m.lock.Lock()
	count, why := m.lost-m.reported, m.why
	m.reported = m.lost
	m.lock.Unlock()
	if count > 0 {
		log.Printf("usage: records lost: %d; %.1000s", count, why)
	}
}
