// SPDX-License-Identifier: MIT
/** The browser's microphone, recordings, camera and pictures as feeds of the board. */
import { HEIGHT, RATE, WIDTH } from "./feeds.mjs";

const PIECE = 1024;
const PICTURE_MS = 100;

/** A sentence for what getUserMedia() threw. */
function sentence(error, what) {
    const known = {
        NotAllowedError: `This page may not use the ${what}: the browser or you refused it.`,
        NotFoundError: `There is no ${what} here.`,
    };
    return new Error(known[error.name] ?? `The ${what} does not start: ${error.message}`);
}

async function stream(wanted, what) {
    if (!navigator.mediaDevices) {
        throw new Error(`This browser gives the page no ${what}; open it over https or at localhost.`);
    }
    try {
        return await navigator.mediaDevices.getUserMedia(wanted);
    } catch (error) {
        throw sentence(error, what);
    }
}

/**
 * Begin with a stream's tracks; they end with what it returns, and when it throws.
 *
 * @param {(atEnd: (act: () => void) => void) => Promise<void>} begin  atEnd() adds what ends it
 * @returns {Promise<() => void>} what ends it
 */
async function begun(taken, what, begin) {
    const acts = [() => taken.getTracks().forEach((track) => track.stop())];
    const end = () => acts.forEach((act) => act());
    try {
        await begin((act) => acts.push(act));
    } catch (error) {
        end();
        throw sentence(error, what);
    }
    return end;
}

/** The context has the rate of its own choice: Firefox connects no microphone to one of another rate. */
export async function listen(feeds) {
    const plain = { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false };
    const sound = await stream({ audio: plain }, "microphone");
    return begun(sound, "microphone", async (atEnd) => {
        const context = new AudioContext();
        atEnd(() => context.close());
        await context.audioWorklet.addModule("sound_worklet.mjs");
        const listener = new AudioWorkletNode(context, "listener", { numberOfOutputs: 0 });
        listener.port.addEventListener("message", ({ data }) => feeds.giveSound(data));
        listener.port.start();
        context.createMediaStreamSource(sound).connect(listener);
        await context.resume();
    });
}

/** Give a recording, any sound file that the browser reads, as fast as the board takes it. */
export async function play(feeds, file, stopped) {
    const context = new OfflineAudioContext(1, 1, RATE);
    const bytes = await file.arrayBuffer();
    let decoded;
    try {
        decoded = await context.decodeAudioData(bytes);
    } catch {
        throw new Error("This is no sound file that the browser reads.");
    }
    const samples = Int16Array.from(decoded.getChannelData(0), (value) =>
        Math.max(-32768, Math.min(32767, Math.round(value * 32768))));
    for (let at = 0; at < samples.length && !stopped(); ) {
        const piece = samples.subarray(at, at + PIECE);
        if (feeds.giveSound(piece)) {
            at += piece.length;
        } else {
            await new Promise((done) => setTimeout(done, 10));
        }
    }
}

/** Draw a picture or a video's frame, whole and in the middle, and give it to the board. */
function give(feeds, canvas, source, width, height) {
    const scale = Math.min(WIDTH / width, HEIGHT / height);
    const [w, h] = [width * scale, height * scale];
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.fillStyle = "black";
    context.fillRect(0, 0, WIDTH, HEIGHT);
    context.drawImage(source, (WIDTH - w) / 2, (HEIGHT - h) / 2, w, h);
    feeds.givePicture(context.getImageData(0, 0, WIDTH, HEIGHT).data);
}

/** @returns {() => void} what ends it */
export async function watch(feeds, canvas) {
    const film = await stream({ video: { width: { ideal: WIDTH }, height: { ideal: HEIGHT } } }, "camera");
    return begun(film, "camera", async (atEnd) => {
        const video = document.createElement("video");
        video.muted = true;
        video.srcObject = film;
        await video.play();
        const timer = setInterval(() => give(feeds, canvas, video, video.videoWidth, video.videoHeight), PICTURE_MS);
        atEnd(() => clearInterval(timer));
    });
}

export async function show(feeds, canvas, file) {
    let picture;
    try {
        picture = await createImageBitmap(file);
    } catch {
        throw new Error("This is no picture that the browser reads.");
    }
    give(feeds, canvas, picture, picture.width, picture.height);
}
